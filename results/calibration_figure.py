"""The figure of a threshold probe: what each threshold keeps and lets in, on either half of the pairs."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from results.figures import COLOURS, DASHES, Files, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

_INCHES = (8.0, 4.0)
_TITLES = {"dedup": "Two descriptors", "floor": "A question's entity and a node"}
_LINES = {
    "dedup": {"kept": "same entity, merged", "let_in": "other entity, merged"},
    "floor": {"kept": "asked for, kept", "let_in": "beside it, let in"},
}


def draw_curve(curve: pd.DataFrame, stem: Path, dedup: float, floor: float) -> Files:
    """Draw the shares over the thresholds, with Wilson's interval on the reported half.

    Args:
        curve: As `results.calibration.curve` makes it.
        stem: The files' path without suffix.
        dedup: The recommended threshold of de-duplication, drawn as a line.
        floor: The recommended floor, likewise.

    Raises:
        BadInput: If matplotlib is missing.
    """

    def draw(figure: Figure) -> None:
        for axes, (purpose, chosen) in zip(
            figure.subplots(1, 2), (("dedup", dedup), ("floor", floor)), strict=True
        ):
            _panel(axes, curve[curve["purpose"] == purpose], _LINES[purpose], chosen)
            axes.set_title(_TITLES[purpose])

    return save(draw, stem, _INCHES)


def _panel(axes: Axes, rows: pd.DataFrame, lines: dict[str, str], chosen: float) -> None:
    for colour, (column, name) in zip(COLOURS, lines.items(), strict=False):
        for dash, (half, told) in zip(DASHES, (("report", "reported"), ("choose", "choosing")), strict=False):
            own = rows[rows["half"] == half]
            label = f"{name}, {told} half"
            axes.plot(
                own["threshold"], own[f"{column}_share"], dash, color=colour, label=label, linewidth=1.4
            )
            if half == "report":
                bounds = own[f"{column}_low"], own[f"{column}_high"]
                axes.fill_between(own["threshold"], *bounds, color=colour, alpha=0.15, linewidth=0)
    axes.axvline(chosen, color="black", linewidth=0.8, linestyle=":", label=f"recommended, {chosen:.2f}")
    axes.set(xlabel="threshold (cosine)", ylabel="share of pairs", xlim=(0, 1), ylim=(0, 1.02))
    axes.legend(fontsize=7, loc="upper center", bbox_to_anchor=(0.5, -0.2), ncols=2)
