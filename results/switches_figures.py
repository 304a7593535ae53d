"""Figures of the switch table and of the sweep, each as PNG and SVG."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from results.figures import COLOURS, DASHES, MARKERS, Files, save
from results.rendering import plain
from results.switches_text import TITLES

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

FOREST = ("turn_recall_5", "turn_mrr", "answer_in_context")
SWEEP = ("turn_recall_5", "turn_mrr", "answer_in_context", "hub_share")
FIELDS = {
    "retrieval_floor": "floor (cosine)",
    "roots": "roots (count)",
    "hops": "hops (count)",
    "hops_wide": "hops, up to 200 nodes",
    "max_nodes": "cap on nodes",
    "max_edges": "cap on edges",
    "dedup_threshold": "dedup (cosine)",
}
NO_FLOOR = -1.0


def forest(table: pd.DataFrame, stem: Path) -> Files:
    """What each switch is worth: a row a switch, a column a figure, both profiles beside each other.

    Args:
        table: Table `switches`.
        stem: The files' path without suffix.
    """
    fields = list(dict.fromkeys(table["field"]))[::-1]

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(FOREST), sharey=True, squeeze=False)[0]
        for axes, name in zip(panels, FOREST, strict=True):
            for number, (base, rows) in enumerate(table[table["figure"] == name].groupby("base", sort=False)):
                places = np.array([fields.index(field) for field in rows["field"]]) + 0.18 - 0.36 * number
                _intervals(axes, number, f"from {base}", rows["difference"], rows, places)
            axes.axvline(0, color="black", lw=0.8)
            axes.set_xlabel(f"difference in {TITLES[name]} (share)")
        panels[0].set_yticks(range(len(fields)), [plain(field) for field in fields])
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside upper center", ncols=2)

    return save(draw, stem, (9.6, 1.2 + 0.3 * len(fields)))


def sweep(table: pd.DataFrame, stem: Path) -> Files:
    """What each setting does: a row a setting, a column a figure; the profile's own value is filled.

    Args:
        table: Table `sweep`.
        stem: The files' path without suffix.
    """

    def draw(figure: Figure) -> None:
        panels = figure.subplots(len(FIELDS), len(SWEEP), squeeze=False, sharex="row", sharey="col")
        for row, field in enumerate(FIELDS):
            for column, name in enumerate(SWEEP):
                part = table[(table["field"] == field) & (table["figure"] == name)]
                _lines(panels[row, column], part)
                panels[row, column].set_xlabel(FIELDS[field])
        for axes, name in zip(panels[0], SWEEP, strict=True):
            axes.set_title(f"{TITLES[name]} (share)", fontsize=9)
        figure.legend(*panels[0, 0].get_legend_handles_labels(), loc="outside upper center", ncols=2)

    return save(draw, stem, (10.5, 1.75 * len(FIELDS)))


def _intervals(
    axes: Axes, number: int, label: str, middle: pd.Series, rows: pd.DataFrame, places: np.ndarray
) -> None:
    reach = np.abs(np.vstack([middle - rows["low"], rows["high"] - middle]))
    axes.errorbar(
        middle, places, xerr=np.nan_to_num(reach), fmt=MARKERS[number], color=COLOURS[number], ms=4,
        elinewidth=0.9, capsize=2, label=label, markerfacecolor="white" if number else COLOURS[number],
    )  # fmt: skip


def _lines(axes: Axes, part: pd.DataFrame) -> None:
    """A line a profile. No cap stands a step to the right of the largest value, no floor one to the left."""
    values = part["value"][part["value"] != NO_FLOOR].dropna()
    if values.empty:
        return
    step = (values.max() - values.min()) / max(1, values.nunique() - 1) or 1.0
    ends = {"none": (NO_FLOOR, values.min() - step), "no cap": (np.nan, values.max() + step)}
    for number, (base, rows) in enumerate(part.groupby("base", sort=False)):
        at = rows["value"].replace(NO_FLOOR, ends["none"][1]).fillna(ends["no cap"][1]).to_numpy(float)
        colour = COLOURS[number]
        axes.fill_between(
            at, rows["low"].to_numpy(float), rows["high"].to_numpy(float), color=colour, alpha=0.15, lw=0
        )
        axes.plot(
            at, rows["mean"], color=colour, ls=DASHES[number], marker=MARKERS[number], ms=4, label=base,
            markerfacecolor="white",
        )  # fmt: skip
        own = rows["own"].to_numpy(bool)
        axes.plot(
            at[own], rows["mean"].to_numpy(float)[own], ls="", marker=MARKERS[number], ms=6, color=colour
        )
    for name, (value, place) in ends.items():
        there = part["value"].isna().any() if np.isnan(value) else (part["value"] == value).any()
        if there:
            axes.annotate(name, (place, 0.02), xycoords=("data", "axes fraction"), ha="center", fontsize=7)
