"""Tables on disk, metrics, statistics and the tables of a paper. What a user keeps is written here.

`results.load(folder)` gives a run as pandas frames.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from results.loading import LoadedRun


def load(run: str | Path, *, unfinished: bool = False) -> LoadedRun:
    """Load a run's tables as pandas frames, each when it is first asked for: `results.load(folder).metrics`.

    What every column means is in `results/COLUMNS.md`, and `palimpsest list columns` prints it.

    Args:
        run: The run folder, or a folder of other verdicts within it (`RUN/rejudged/...`).
        unfinished: Load the tables that are there although the run has not come to its end.

    Raises:
        BadInput: If it is no run folder, or the run has not come to its end.
    """
    from results.loading import load_run  # pandas and Arrow: not for who wants a metric alone

    return load_run(run, unfinished=unfinished)


__all__ = ["load"]
