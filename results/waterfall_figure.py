"""The loss waterfall as a figure: for each question type a bar a condition, parted by what became of its questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from results.figures import Files, save, shown
from results.waterfall import CAUSES
from results.waterfall_types import ALL

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours of Okabe and Ito, with hatches, so that the parts are told apart without colour, too.
_PARTS = dict(
    zip(
        CAUSES,
        (
            ("#009E73", ""),
            ("#D55E00", "////"),
            ("#CC79A7", "xxxx"),
            ("#999999", "...."),
            ("#E69F00", "\\\\\\\\"),
            ("#56B4E9", "++"),
        ),
        strict=True,
    )
)
_READABLE = 0.07
"""Share from which a part carries its number of questions."""


def waterfall_figure(counted: pd.DataFrame, stem: Path) -> Files:
    """Draw what became of the questions, by type and condition.

    Args:
        counted: The table `waterfall_types`.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib is missing.
    """
    causes = counted[(counted["counted"] == "cause") & (counted["tracked"] == ALL) & (counted["of"] > 0)]
    kinds = list(dict.fromkeys(causes["type"]))
    conditions = list(dict.fromkeys(causes["condition"]))

    lines = -(-len(kinds) // 2) or 1

    def draw(figure: Figure) -> None:
        panels = list(figure.subplots(lines, 2, squeeze=False).flat)
        for kind, axes in zip(kinds, panels, strict=False):
            _bars(axes, causes[causes["type"] == kind], conditions)
            axes.set_title(shown(str(kind)), loc="left", fontsize=9)
        for axes in panels[len(kinds) :]:
            axes.set_axis_off()
        _legend(figure)

    return save(draw, stem, (9.0, 0.8 + lines * (0.8 + 0.26 * len(conditions))))


def _legend(figure: Figure) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(facecolor=colour, hatch=hatch, edgecolor="white", label=cause)
        for cause, (colour, hatch) in _PARTS.items()
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=len(handles))


def _bars(axes: Axes, causes: pd.DataFrame, conditions: list[str]) -> None:
    left = dict.fromkeys(conditions, 0.0)
    for cause, (colour, hatch) in _PARTS.items():
        for row in causes[causes["name"] == cause].to_dict("records"):
            name, share = str(row["condition"]), float(row["share"])
            place = conditions.index(name)
            bar = axes.barh(
                place, 100 * share, left=left[name], color=colour, hatch=hatch, edgecolor="white", lw=0.5
            )
            if share >= _READABLE:
                box = {"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"}
                axes.bar_label(bar, [f"{row['n']:,}"], label_type="center", fontsize=7, bbox=box)
            left[name] += 100 * share
    axes.set_yticks(range(len(conditions)), [shown(name) for name in conditions])
    axes.set_ylim(len(conditions) - 0.5, -0.5)
    axes.set_xlim(0, 100)
    axes.set_xlabel(f"questions with a verdict (% of {causes['of'].max():,})", fontsize=8)
    axes.grid(visible=False, axis="y")
