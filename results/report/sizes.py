"""How large the memories of one's own conversations are, and how they grew."""

from __future__ import annotations

from results.history_sizes import CAPTION, HEADER, size_rows
from results.report.elements import Section, TextTable
from results.report.sources import RunFolder


def sizes(run: RunFolder) -> Section | None:
    """A table with a row a condition; none for a run that has not measured it."""
    found, growth = run.frame("history_sizes"), run.frame("history_growth")
    if found is None or growth is None:
        return None
    table = TextTable(CAPTION, HEADER, tuple(size_rows(found, growth)))
    return Section("sizes", "Memories", tables=(table,))
