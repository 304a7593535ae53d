"""Evidence by words of context as a figure: a line a condition, with its intervals."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from results.figures import COLOURS, DASHES, MARKERS, Files, save, shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def evidence_figure(evidence: pd.DataFrame, stem: Path) -> Files:
    """Draw how much of the evidence a context of so many words stands on.

    Args:
        evidence: Table `evidence_by_words`.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib is missing.
    """
    own = evidence[evidence["figure"] == "evidence_recall"]
    sizes = sorted(own["words"].unique())

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for number, (condition, rows) in enumerate(own.groupby("condition", sort=False)):
            ordered = rows.sort_values("words")
            middle = ordered["mean"].to_numpy(float)
            ends = np.vstack([middle - ordered["low"], ordered["high"] - middle])
            foreign = " *" if ordered["facts_by"].iloc[0] else ""
            axes.errorbar(
                ordered["words"], middle, yerr=np.abs(np.nan_to_num(ends)), label=f"{shown(str(condition))}{foreign}",
                color=COLOURS[number % len(COLOURS)], marker=MARKERS[number % len(MARKERS)],
                ls=DASHES[number % len(DASHES)], markerfacecolor="white", ms=5, lw=1.2, elinewidth=0.8, capsize=2.5,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes])
        axes.minorticks_off()
        axes.set_xlabel("words of context (log scale; * facts written by another model)")
        axes.set_ylabel("evidence recall (share of evidence turns)")
        axes.set_ylim(bottom=0)
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.5)

    return save(draw, stem, (7.6, 4.2))
