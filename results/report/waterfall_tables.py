"""The section of a report that says where answers were lost."""

from __future__ import annotations

import pandas as pd

from results.rendering import interval, number
from results.report.elements import Section, TextTable
from results.report.sources import RunFolder
from results.waterfall import STEPS
from results.waterfall_types import ALL, waterfall_text

_METHOD = (
    "What answers a question stands in its evidence turns, then in what was extracted from them, in the memory, in the "
    "recalled context, and in the answer. Tracked is the reference answer where an evidence turn says it, else the "
    "evidence turns themselves. A question is counted where the step fails that follows the last one that has it; the "
    "table waterfall says so of every question."
)


def waterfall(run: RunFolder) -> Section | None:
    """Causes by condition and type, and the share that is there at each step."""
    counted = run.frame("waterfall_types")
    if counted is None or counted.empty:
        return None
    text = waterfall_text(counted)
    together = (counted["type"] == ALL) & (counted["tracked"] == ALL)
    overall = waterfall_text(counted[together])
    tables = (
        TextTable(
            "What became of the questions of each condition, with shares of those with a verdict (n)",
            overall.header,
            overall.rows,
        ),
        _steps(counted[together & (counted["counted"] == "step")]),
        TextTable("The same by question type, and by what is tracked", text.header, text.rows, folded=True),
    )
    return Section("waterfall", "Where answers were lost", lines=(_METHOD,), tables=tables)


def _steps(steps: pd.DataFrame) -> TextTable:
    """A row a condition, a column a step; a dash where a system has no such step."""
    rows = []
    for condition, own in steps.groupby("condition", sort=False):
        by_step = own.set_index("name").to_dict("index")
        shares = (by_step[step] for step in STEPS)
        cells = (f"{number(s['share'])} {interval(s['low'], s['high'])}" if s["of"] else "–" for s in shares)
        rows.append((str(condition), *cells))
    header = ("Condition", *(step.removeprefix("in_").capitalize() for step in STEPS))
    return TextTable(
        "Share of these questions that have at each step what is tracked, with 95 % Wilson intervals",
        header,
        tuple(rows),
        folded=True,
    )
