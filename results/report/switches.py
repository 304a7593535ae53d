"""The section of a report that says what each switch, merge rule and setting of the graph is worth."""

from __future__ import annotations

from results.report.elements import Section, TextTable
from results.report.sources import RunFolder
from results.switches_text import TEXTS

_METHOD = (
    "Every arm is a profile of the graph with one field moved, asked every question from what the study had bought: no "
    "model answers, so that these are figures of what is recalled. Differences are paired by question."
)


def switches(run: RunFolder) -> Section | None:
    """The tables of a run that explains itself."""
    tables = []
    for name, written in TEXTS.items():
        table = run.frame(name)
        if table is not None and not table.empty:
            text = written(table)
            tables.append(TextTable(text.caption, text.header, text.rows, folded=True))
    return (
        Section("switches", "What the switches are worth", lines=(_METHOD,), tables=tuple(tables))
        if tables
        else None
    )
