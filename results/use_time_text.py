"""The tables of the use-time study as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import pandas as pd

from results.paper_tables import PaperTable
from results.rendering import interval, number, signed

TITLES = {"judge": "accuracy", "f1": "F1", "context_evidence": "evidence in context"}
COUNTED = (
    "Accuracy is over completed evaluations; where some are missing, it also stands with these counted as wrong. Where "
    "all questions are on one history, intervals are over its questions."
)


def headline(means: pd.DataFrame) -> str:
    """The figure that a run is read by: accuracy where anything was judged, else the evidence in the context."""
    for name in ("judge", "context_evidence"):
        if means.loc[means["figure"] == name, "mean"].notna().any():
            return name
    return "f1"


def use_time_text(means: pd.DataFrame) -> PaperTable:
    """Table `use_time`: a line a system, a column a budget, and one for a system that shows nothing."""
    figure = headline(means)
    own = means[(means["part"] == "system") & (means["figure"] == figure)]
    budgets = [0] * bool(own["tokens"].isna().any()) + sorted(own["tokens"].dropna().unique())
    text = []
    for condition, rows in own.groupby("condition", sort=False):
        by_budget = dict(zip(rows["tokens"].fillna(0), rows.to_dict("records"), strict=True))
        text.append((str(condition), *(_cell(by_budget.get(tokens)) for tokens in budgets)))
    return PaperTable(
        name="use_time",
        caption=f"{TITLES[figure].capitalize()} of every system at equal token budgets, with 95 % intervals and the "
        f"number of questions; in brackets the tokens that its contexts really take. {COUNTED}",
        data=own,
        header=("System", *(f"{tokens:,.0f} tokens" if tokens else "no context" for tokens in budgets)),
        rows=tuple(text),
    )


def _cell(row: Mapping[Any, Any] | None) -> str:
    if row is None or math.isnan(row["mean"]):
        return "-"
    shown = f"{number(row['mean'])} {interval(row['low'], row['high'])}"
    missing = row["missing"] and not math.isnan(row["with_missing"])
    counted = f"; with {row['missing']:,} missing {number(row['with_missing'])}" if missing else ""
    return f"{shown} ({row['n']:,}; {row['rate']:,.0f}{counted})"


def differences_text(differences: pd.DataFrame) -> PaperTable:
    """Table `use_time_differences`: RD-Forget minus every other system at each budget."""
    return _differences(
        "use_time_differences",
        "RD-Forget as published minus another system, at equal budgets",
        differences,
        {"difference": lambda row: f"{row['a']} minus {row['b']}"},
    )


def ablations_text(ablations: pd.DataFrame) -> PaperTable:
    """Table `ablations`: what each switch and open constant is worth, the paper's figures beside."""
    return _differences(
        "ablations",
        "RD-Forget with one thing turned minus RD-Forget; printed: the paper's accuracy and difference in percent "
        "(Luna family); direction: whether accuracy moves as printed",
        ablations,
        {"turned": lambda row: str(row["variant"])},
        {
            "printed": lambda row: _percent(row["printed"], "{:.2f}"),
            "printed difference": lambda row: _percent(row["printed_difference"], "{:+.2f}"),
            "direction": lambda row: row["direction"] if isinstance(row["direction"], str) else "-",
        },
    )


Column = Callable[[Mapping[Any, Any]], str]


def _differences(
    name: str,
    caption: str,
    table: pd.DataFrame,
    before: Mapping[str, Column],
    after: Mapping[str, Column] | None = None,
) -> PaperTable:
    figures = [figure for figure in TITLES if table.loc[table["figure"] == figure, "n"].sum()]
    text = []
    firsts = [next(iter(before.values()))(row) for row in table.to_dict("records")]
    for first, rows in table.groupby(firsts, sort=False):
        by_figure = {str(row["figure"]): row for row in rows.to_dict("records")}
        cells = [_difference(by_figure[figure]) for figure in figures]
        judged = by_figure["judge"]
        text.append((str(first), *cells, *(column(judged) for column in (after or {}).values())))
    return PaperTable(
        name=name,
        caption=f"{caption}: difference [95 % interval], n pairs; * p below .05 after Holm over the figure's rows.",
        data=table,
        header=(*before, *(TITLES[figure] for figure in figures), *(after or {})),
        rows=tuple(text),
    )


def _difference(row: Mapping[Any, Any]) -> str:
    if math.isnan(row["difference"]):
        return "-"
    star = "*" if row["p_holm"] < 0.05 else ""
    return f"{signed(row['difference'])}{star} {interval(row['low'], row['high'], sign=True)} ({row['n']:,})"


def _percent(value: float | None, form: str) -> str:
    return "-" if value is None or math.isnan(value) else form.format(value)


def joint_text(joint: pd.DataFrame) -> PaperTable:
    """Table `joint`: what storage-time forgetting and use-time selection lose together."""
    figure = headline(joint)
    own = joint[joint["figure"] == figure]
    rows = tuple(
        (
            str(row["condition"]),
            str(row["retention"]) or "-",
            f"{row['kept']:.0%}",
            f"{row['bytes']:,.0f}",
            f"{row['tokens']:,}",
            f"{row['rate']:,.0f}",
            f"{number(row['mean'])} {interval(row['low'], row['high'])} ({row['n']:,})",
            number(row["loss"]),
            "yes" if row["undominated"] else "",
        )
        for row in own.to_dict("records")
    )
    return PaperTable(
        name="joint",
        caption=f"Forgetting in storage by selection at use: {TITLES[figure]}, and what is lost to the best point. "
        "Undominated: no other point is at least as good for at most as many bytes and tokens.",
        data=own,
        header=(
            "selection", "retention", "kept", "bytes a memory", "budget", "tokens used", TITLES[figure], "loss",
            "undominated",
        ),
        rows=rows,
    )  # fmt: skip


TEXTS: Mapping[str, Callable[[pd.DataFrame], PaperTable]] = {
    "use_time": use_time_text,
    "use_time_differences": differences_text,
    "ablations": ablations_text,
    "joint": joint_text,
}
"""By table of the use-time study, what writes it as text."""
