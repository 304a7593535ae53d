"""The figures of the use-time study, drawn from the tables of a finished run."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from results.use_time_figures import ablations_figure, joint_figure, rate_distortion_figure

_FIGURES = {
    "use_time": ("rate_distortion", rate_distortion_figure),
    "ablations": ("ablations", ablations_figure),
    "joint": ("storage_by_use", joint_figure),
}
"""By table, the name of its figure and what draws it."""


def draw_use_time(folder: Path) -> list[Path]:
    """Draw each table that is there as PNG and SVG; nothing where the extra that draws is not installed."""
    drawn: list[Path] = []
    if find_spec("matplotlib") is None:
        return drawn
    for table, (name, figure) in _FIGURES.items():
        path = folder / f"{table}.parquet"
        if path.exists():
            drawn += figure(pd.read_parquet(path), folder / "figures" / name)
    return drawn
