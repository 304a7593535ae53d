"""The loss waterfall counted by condition and question type: numbers with Wilson's interval, and text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pandas as pd
import pyarrow as pa

from results.paper_tables import TYPE_ORDER, PaperTable
from results.rendering import number
from results.statistics import wilson
from results.waterfall import CAUSES, OUTSIDE, STEPS

ALL = "all"
"""Stands for a type, or for what is tracked, where all are counted together."""
_COLUMNS: dict[str, pa.DataType] = {
    "condition": pa.string(),
    "type": pa.string(),
    "tracked": pa.string(),  # all | answer | evidence
    "counted": pa.string(),  # cause | step | outside
    "name": pa.string(),
    "n": pa.int64(),
    "of": pa.int64(),
    "share": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
}
SCHEMA = pa.schema(_COLUMNS)


def waterfall_types(waterfall: pd.DataFrame) -> pa.Table:
    """Count a `waterfall` table.

    For each condition and type, and for all types together by what is tracked and at all: each cause, of the questions
    that have one; each step, how many of these questions have there what is tracked, of those of which the step is
    known; and how many questions are outside the waterfall and why, of all. Shares come with Wilson's 95 % interval,
    which takes each question as its own unit.
    """
    rows = [
        {"condition": condition, "type": kind, "tracked": tracked, **line}
        for condition, own in waterfall.groupby("condition", sort=False)
        for kind, tracked, asked in _groups(own)
        for line in _lines(asked)
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def _groups(rows: pd.DataFrame) -> Iterator[tuple[str, str, pd.DataFrame]]:
    there = set(rows["type"].dropna())
    for kind in (*(kind for kind in TYPE_ORDER if kind in there), *sorted(there.difference(TYPE_ORDER))):
        yield kind, ALL, rows[rows["type"] == kind]
    for tracked in ("answer", "evidence"):
        yield ALL, tracked, rows[rows["tracked"] == tracked]
    yield ALL, ALL, rows


def _lines(asked: pd.DataFrame) -> Iterator[dict[str, Any]]:
    traced = asked[asked["cause"].isin(CAUSES)]
    for cause in CAUSES:
        yield _line("cause", cause, int((traced["cause"] == cause).sum()), len(traced))
    for step in STEPS:
        known = traced[step].dropna().astype(bool)
        yield _line("step", step, int(known.sum()), len(known))
    for why in OUTSIDE:
        yield _line("outside", why, int((asked["cause"] == why).sum()), len(asked))


def _line(counted: str, name: str, n: int, of: int) -> dict[str, Any]:
    share = wilson(n, of)
    known = of > 0
    return {
        "counted": counted,
        "name": name,
        "n": n,
        "of": of,
        "share": share.share if known else None,
        "low": share.low if known else None,
        "high": share.high if known else None,
    }


def waterfall_text(counted: pd.DataFrame) -> PaperTable:
    """A `waterfall_types` table for people: a row a condition and type, a column a cause."""
    rows = [
        (str(condition), str(kind) if tracked == ALL else f"{kind}, {tracked} tracked", *cells(lines))
        for (condition, kind, tracked), lines in counted.groupby(["condition", "type", "tracked"], sort=False)
    ]
    return PaperTable(
        name="waterfall_types",
        caption="Where what answers a question was lost: questions, and their share of those with a verdict (n). A "
        "question counts where the step fails that follows the last one that has what is tracked: the reference "
        "answer where an evidence turn says it, else the evidence turns. Outside: abstention questions, and those "
        "without evidence, answer or verdict.",
        data=counted,
        header=HEADER,
        rows=tuple(rows),
    )


HEADER = ("Condition", "Type", "n", *(cause.capitalize() for cause in CAUSES), "Outside")
"""Titles of the text columns."""


def cells(lines: pd.DataFrame) -> tuple[str, ...]:
    """The text of one condition and type: n, each cause with its share, and how many are outside."""
    causes = lines[lines["counted"] == "cause"]
    outside = int(lines[lines["counted"] == "outside"]["n"].sum())
    shown = (
        f"{n:,} ({number(share, 2)})" if n else "0"
        for n, share in zip(causes["n"], causes["share"], strict=True)
    )
    return (f"{causes['of'].iloc[0]:,}", *shown, f"{outside:,}")
