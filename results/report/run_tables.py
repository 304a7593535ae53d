"""The tables of a run: means by condition and by question type, and those of the paper."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import pandas as pd

from results.paper_tables import TYPE_ORDER
from results.rendering import interval, number
from results.report.elements import Section, TextTable
from results.report.headline import HEADLINE
from results.report.sources import RunFolder

Record = dict[Any, Any]
MEANS = {
    **HEADLINE,
    "precision": "Precision",
    "recall": "Recall",
    "turn_ndcg_10": "nDCG@10",
    "context_tokens": "Context tokens",
}


def tables(run: RunFolder, metrics: pd.DataFrame) -> Section:
    """Means by condition and by type, and the tables of the paper."""
    made = [by_condition(metrics), *by_type(metrics)]
    made += [table for name in _PAPER if (table := _PAPER[name](run)) is not None]
    return Section("tables", "Tables", tables=tuple(made))


def by_condition(metrics: pd.DataFrame) -> TextTable:
    """Means over the questions that have the figure; how many, where these are not all."""
    rows = []
    for name, own in metrics.groupby("condition", sort=False):
        rows.append((str(name), f"{len(own):,}", *(mean(own[column], column, len(own)) for column in MEANS)))
    caption = "Means by condition; over how many questions in brackets, where not all have the figure"
    return TextTable(caption, ("Condition", "n", *MEANS.values()), tuple(rows))


def by_type(metrics: pd.DataFrame) -> list[TextTable]:
    """A table for each headline metric: a row a question type, a column a condition."""
    names = list(dict.fromkeys(metrics["condition"]))
    there = set(metrics["type"].dropna())
    kinds = [*(kind for kind in TYPE_ORDER if kind in there), *sorted(there.difference(TYPE_ORDER))]
    if len(kinds) < 2:
        return []
    asked = metrics.groupby("type")["question"].nunique()
    by_both = dict(iter(metrics.groupby(["type", "condition"])[list(HEADLINE)]))
    none = metrics.iloc[:0]

    def table(column: str, title: str) -> TextTable:
        rows = []
        for kind in kinds:
            n = int(asked[kind])
            cells = (mean(by_both.get((kind, name), none)[column], column, n) for name in names)
            rows.append((str(kind), f"{n:,}", *cells))
        return TextTable(f"{title} by question type", ("Type", "n", *map(str, names)), tuple(rows))

    return [table(column, title) for column, title in HEADLINE.items()]


def mean(figures: pd.Series, column: str, asked: int) -> str:
    """A mean as text, and over how many where it is not over all."""
    there = figures.dropna()
    if there.empty:
        return "–"
    shown = f"{there.mean():,.0f}" if column == "context_tokens" else f"{there.mean():.3f}"
    return shown if len(there) == asked else f"{shown} ({len(there):,})"


def frame_table(
    run: RunFolder,
    name: str,
    caption: str,
    header: tuple[str, ...],
    row: Callable[[Record], Sequence[str]],
    *,
    folded: bool = True,
) -> TextTable | None:
    """A table of the run as text, a row a record; none where the run has not got so far."""
    frame = run.frame(name)
    if frame is None or frame.empty:
        return None
    rows = tuple(tuple(row(record)) for record in frame.to_dict("records"))
    return TextTable(caption, header, rows, folded)


def _table_1(run: RunFolder) -> TextTable | None:
    counts = ("questions", "answered", "judged", "missing")
    header = ("Questions", "Condition", *map(str.capitalize, counts), "P", "F1", "J")

    def row(line: Record) -> Sequence[str]:
        group = line["type"] if line["group"] == "type" else str(line["group"]).capitalize()
        figures = (number(as_float(line[metric])) for metric in ("precision", "f1", "judge"))
        return (str(group), str(line["condition"]), *(f"{line[count]:,}" for count in counts), *figures)

    caption = "The paper's Table 1: means by type, overall, over types, and of abstention questions"
    return frame_table(run, "table_1", caption, header, row)


def _table_6(run: RunFolder) -> TextTable | None:
    header = ("Condition", "Metric", "n", "Missing", "Mean", "SEM", "95 % bootstrap", "95 % Wilson")

    def row(line: Record) -> Sequence[str]:
        wilson = interval(as_float(line["wilson_low"]), as_float(line["wilson_high"]))
        return (
            str(line["condition"]),
            str(line["metric"]),
            f"{line['n']:,}",
            f"{line['missing']:,}",
            number(as_float(line["mean"])),
            number(as_float(line["sem"])),
            interval(as_float(line["low"]), as_float(line["high"])),
            wilson if math.isfinite(as_float(line["wilson_low"])) else "",
        )

    caption = "The paper's Tables 5 and 6: mean, standard error and interval of each condition"
    return frame_table(run, "table_6", caption, header, row)


_PAPER: dict[str, Callable[[RunFolder], TextTable | None]] = {"table_1": _table_1, "table_6": _table_6}


def as_float(value: Any) -> float:
    """NaN for a figure that is missing."""
    return math.nan if value is None else float(value)
