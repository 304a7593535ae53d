"""Quality, time of a recall and bytes against the size of the store as one figure: a line a condition."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from results.figures import COLOURS, DASHES, MARKERS, Files, save, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PANELS = {
    "session_mrr": "session MRR",
    "turn_recall_5": "evidence turns among the first 5 (share)",
    "latency_p50_ms": "median time of a recall (ms)",
    "memory_bytes": "memory (bytes)",
}


def sizes_figure(sizes: pd.DataFrame, stem: Path) -> Files:
    """Draw the table `ranking_sizes`.

    Args:
        sizes: The table.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib is missing.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(2, 2, sharex=True).ravel()
        for axes, (column, title) in zip(panels, _PANELS.items(), strict=True):
            for number, (condition, rows) in enumerate(sizes.groupby("condition", sort=False)):
                ordered = rows.sort_values("turns")
                axes.plot(
                    ordered["turns"], ordered[column], label=shown(str(condition)),
                    color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
                    ls=DASHES[number % len(DASHES)], markerfacecolor="white", ms=4, lw=1.1,
                )  # fmt: skip
            axes.set_xscale("log")
            axes.set_ylabel(title, fontsize=8)
            if column in ("latency_p50_ms", "memory_bytes"):
                axes.set_yscale("log")
        for axes in panels[2:]:
            axes.set_xlabel("turns in the store (log scale)")
        panels[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), handlelength=3.5)

    return save(draw, stem, (9.0, 6.0))
