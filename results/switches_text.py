"""The switch tables as text: a line an arm, its figures beside one another."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from results.paper_tables import PaperTable
from results.rendering import interval, number, signed
from results.switches import FIGURES, OF_BUDGETS, SWEPT

TITLES = {
    "turn_recall_5": "recall@5",
    "turn_mrr": "MRR",
    "turn_ndcg_10": "nDCG@10",
    "answer_in_context": "answer in context",
    "context_tokens": "context tokens",
    "evidence_recall": "evidence recall",
    "floor_acts": "floor acts",
    "hub_share": "paths through hubs",
    "nodes": "nodes",
}
_DIFFERENCE = (
    "difference [95 % interval], n pairs; * has a p below .05 after Holm over the rows of its figure"
)


def switch_text(table: pd.DataFrame) -> PaperTable:
    """Table `switches`."""
    return _differences(
        "switches",
        f"One field of the graph's profile moved to what it is in the other profile, minus the profile: {_DIFFERENCE}.",
        table,
        ("base", "field", "own", "value"),
        FIGURES,
    )


def rule_text(table: pd.DataFrame) -> PaperTable:
    """Table `merge_rules`."""
    return _differences(
        "merge_rules",
        f"The merge rule alone moved, minus the profile's own rule: {_DIFFERENCE}.",
        table,
        ("type", "base", "own", "value"),
        FIGURES,
    )


def budget_text(table: pd.DataFrame) -> PaperTable:
    """Table `equal_budget`."""
    caption = (
        "The graph minus flat retrieval, at equal hits (five roots, five turns) and at equal context tokens (o200k), "
        f"the graph's and flat's means before it: {_DIFFERENCE}."
    )
    return _differences(
        "equal_budget", caption, table, ("profile", "unit", "budget"), OF_BUDGETS, ("graph", "flat")
    )


def sweep_text(table: pd.DataFrame) -> PaperTable:
    """Table `sweep`: means alone; the intervals are in its Parquet file."""
    keys = ["base", "field", "value", "own"]
    rows = [
        (str(base), str(field), _amount(value, own=bool(own)), *(_mean(part, figure) for figure in SWEPT))
        for (base, field, value, own), part in table.groupby(keys, sort=False, dropna=False)
    ]
    header = ("base", "field", "value", *(TITLES[figure] for figure in SWEPT))
    caption = "One setting of the graph's profile swept; means over the questions that have the figure."
    return PaperTable("sweep", caption, table, header, tuple(rows))


TEXTS = {"switches": switch_text, "merge_rules": rule_text, "sweep": sweep_text, "equal_budget": budget_text}
"""What writes each table."""


def _differences(
    name: str,
    caption: str,
    table: pd.DataFrame,
    keys: Sequence[str],
    figures: Sequence[str],
    sides: tuple[str, ...] = (),
) -> PaperTable:
    rows = []
    for key, part in table.groupby(list(keys), sort=False):
        cells = {line["figure"]: line for line in part.to_dict("records")}
        rows.append((*(str(each) for each in key), *(_cell(cells[figure], sides) for figure in figures)))
    return PaperTable(name, caption, table, (*keys, *(TITLES[figure] for figure in figures)), tuple(rows))


def _cell(line: Mapping[Any, Any], sides: tuple[str, ...]) -> str:
    wide = line["figure"] == "context_tokens"
    before = " / ".join(_rounded(float(line[side]), wide) for side in sides)
    star = "*" if line["p_holm"] < 0.05 else ""
    if wide:
        difference, low, high = (_change(float(line[name])) for name in ("difference", "low", "high"))
        said = f"{difference} [{low}, {high}]"
    else:
        said = f"{signed(line['difference'])} {interval(line['low'], line['high'], sign=True)}"
    return f"{before + ': ' if before else ''}{said}{star} ({line['n']:,})"


def _rounded(value: float, wide: bool) -> str:
    return f"{value:,.0f}" if wide and not math.isnan(value) else number(value)


def _change(value: float) -> str:
    return "–" if math.isnan(value) else f"{value:+,.0f}"


def _mean(part: pd.DataFrame, figure: str) -> str:
    mean: Any = part.loc[part["figure"] == figure, "mean"].item()
    wide = figure in ("context_tokens", "nodes") and not math.isnan(mean)
    return f"{mean:,.1f}" if wide else number(float(mean))


def _amount(value: Any, *, own: bool) -> str:
    return ("no cap" if pd.isna(value) else f"{value:g}") + (" (own)" if own else "")
