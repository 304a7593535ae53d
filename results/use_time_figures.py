"""The figures of the use-time study: rate and distortion, the ablations, and storage by use."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from results.figures import COLOURS, DASHES, MARKERS, Files, save, shown
from results.use_time_text import TITLES, headline

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


def rate_distortion_figure(means: pd.DataFrame, stem: Path) -> Files:
    """Draw what is lost (one minus the headline figure) against the tokens used, a curve a system.

    Args:
        means: Table `use_time`.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib is missing.
    """
    figure_name = headline(means)
    own = means[(means["part"] == "system") & (means["figure"] == figure_name) & (means["rate"] > 0)]

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        for number, (condition, rows) in enumerate(own.groupby("condition", sort=False)):
            ordered = rows.sort_values("rate")
            lost = 1 - ordered["mean"].to_numpy(float)
            ends = np.vstack([ordered["high"] - ordered["mean"], ordered["mean"] - ordered["low"]])
            axes.errorbar(
                ordered["rate"], lost, yerr=np.abs(np.nan_to_num(ends)), label=shown(str(condition)), elinewidth=0.6,
                capsize=2, **_line(number),
            )  # fmt: skip
        axes.set_xscale("log")
        budgets = sorted(own["tokens"].unique())
        axes.set_xticks(budgets, [f"{tokens:,}" for tokens in budgets])
        axes.minorticks_off()
        axes.set_xlabel("rate: context tokens a question (o200k, log scale)")
        axes.set_ylabel(f"distortion: 1 - {TITLES[figure_name]}")
        if budgets:
            axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.5)

    return save(draw, stem, (7.6, 4.2))


def ablations_figure(ablations: pd.DataFrame, stem: Path) -> Files:
    """Draw what each variant changes, with its interval, and where the paper's difference lies.

    Args:
        ablations: Table `ablations`.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib is missing.
    """
    judged = ablations.loc[ablations["figure"] == "judge", "difference"].notna().any()
    figure_name = "judge" if judged else "context_evidence"
    own = ablations[ablations["figure"] == figure_name].reset_index(drop=True)

    def draw(figure: Figure) -> None:
        axes = figure.subplots()
        places = np.arange(len(own))[::-1]
        middle = own["difference"].to_numpy(float)
        ends = np.vstack([middle - own["low"], own["high"] - middle])
        axes.errorbar(middle, places, xerr=np.abs(np.nan_to_num(ends)), label="measured", ls="", **_point(0))
        printed = own["printed_difference"].to_numpy(float) / 100
        if judged and np.isfinite(printed).any():
            axes.plot(printed, places, label="printed by the paper", ls="", color="black", marker="x")
        axes.axvline(0, color="black", lw=0.8)
        axes.set_yticks(places, [shown(str(name)) for name in own["variant"]])
        axes.set_xlabel(f"difference in {TITLES[figure_name]} to RD-Forget as published")
        axes.legend(loc="center left", bbox_to_anchor=(1.01, 0.5))

    return save(draw, stem, (7.6, 3.8))


def joint_figure(joint: pd.DataFrame, stem: Path) -> Files:
    """Draw what is lost against the bytes kept: a panel a budget, a line a selection and policy.

    Args:
        joint: Table `joint`.
        stem: The files' path without suffix.

    Raises:
        BadInput: If matplotlib is missing.
    """
    figure_name = headline(joint)
    own = joint[joint["figure"] == figure_name]
    budgets = sorted(own["tokens"].unique())

    def draw(figure: Figure) -> None:
        panels = figure.subplots(1, len(budgets), sharey=True, squeeze=False)[0]
        for axes, tokens in zip(panels, budgets, strict=True):
            _joint_panel(axes, own[own["tokens"] == tokens])
            axes.set_title(f"{tokens:,} tokens")
            axes.set_xlabel("bytes kept (%)")
        panels[0].set_ylabel(f"loss of {TITLES[figure_name]} to the best point")
        panels[-1].legend(loc="center left", bbox_to_anchor=(1.01, 0.5), handlelength=3.5)

    return save(draw, stem, (3.0 * len(budgets) + 2.4, 3.8))


def _joint_panel(axes: Axes, rows: pd.DataFrame) -> None:
    policies = [policy for policy in rows["retention"].unique() if policy]
    for number, (condition, some) in enumerate(rows.groupby("condition", sort=False)):
        whole = some[some["retention"] == ""]
        for dash, policy in enumerate(policies):
            line = pd.concat([some[some["retention"] == policy], whole]).sort_values("kept")
            axes.plot(
                100 * line["kept"], line["loss"], label=f"{shown(str(condition))}, {policy}",
                **{**_line(number), "ls": DASHES[dash % len(DASHES)]},
            )  # fmt: skip


def _point(number: int) -> dict[str, Any]:
    return {
        "color": COLOURS[number % len(COLOURS)],
        "marker": MARKERS[number % len(MARKERS)],
        "markerfacecolor": "white",
        "ms": 5,
    }


def _line(number: int) -> dict[str, Any]:
    return {**_point(number), "ls": DASHES[number % len(DASHES)], "lw": 1.2}
