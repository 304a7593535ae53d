"""The figures of the ranking study: quality and costs by size of the store, and quality by how bad the tags are."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

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
                    **_line(number),
                )  # fmt: skip
            axes.set_xscale("log")
            axes.set_ylabel(title, fontsize=8)
            if column in ("latency_p50_ms", "memory_bytes"):
                axes.set_yscale("log")
        for axes in panels[2:]:
            axes.set_xlabel("turns in the store (log scale)")
        panels[1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), handlelength=3.5)

    return save(draw, stem, (9.0, 6.0))


def tag_noise_figure(noise: pd.DataFrame, stem: Path) -> Files:
    """Draw the table `ranking_tag_noise`: turn MRR by the share of tags that is dropped, and that is corrupted.

    Args:
        noise: The table.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib is missing.
    """
    own = noise[(noise["side"] == "all") & (noise["unit"] == "turn") & (noise["metric"] == "mrr")]
    changes = list(dict.fromkeys(own["change"]))

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(changes), sharey=True, squeeze=False)[0]
        for axes, change in zip(panels, changes, strict=True):
            for number, (condition, rows) in enumerate(
                own[own["change"] == change].groupby("condition", sort=False)
            ):
                axes.plot(
                    100 * rows["share"], rows["mean"], label=shown(str(condition)),
                    **_line(number),
                )  # fmt: skip
            axes.set_xlabel({"drop": "tags dropped (%)", "corrupt": "tags corrupted (%)"}[change])
        panels[0].set_ylabel("turn MRR")
        panels[0].set_ylim(bottom=0)
        panels[-1].legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), handlelength=3.5)

    return save(draw, stem, (3.4 * len(changes) + 2.2, 3.6))


def _line(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "ls": DASHES[number % len(DASHES)],
        "markerfacecolor": "white",
        "ms": 4,
        "lw": 1.1,
    }
