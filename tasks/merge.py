"""Stage `merge`: the extractions of some histories become one memory each: sequential, deterministic and free."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memory.conversation import History, Session
from tasks.context import open_memory
from tasks.extract import extracted
from tasks.load import loaded
from tasks.stage import Made, Stage, Work


def make(work: Work) -> Made:
    """Build the memories of a batch of histories and keep them as tables with a `history` column."""
    histories, _, _ = loaded(work)
    extractions = extracted(work)
    parts: dict[str, list[pa.Table]] = {}
    for name in work.params["histories"]:
        memory = open_memory(work.params["condition"], work)
        for session in in_order(histories[name], work.params["condition"]["settings"]):
            memory.remember(session, extractions)
        for table, rows in memory.tables().items():
            history = pa.array([name] * rows.num_rows, pa.string())
            parts.setdefault(table, []).append(rows.add_column(0, "history", history))
    tables = {name: pa.concat_tables(part) for name, part in parts.items()}
    return Made(tables, {"ok": len(work.params["histories"])})


def in_order(history: History, settings: Mapping[str, Any]) -> tuple[Session, ...]:
    """The sessions of a history in the order in which a system with these settings wants to hear them."""
    return history.by_date() if settings.get("session_order") == "date" else history.sessions


STAGE = Stage("merge", 2, make)


def merged(work: Work, history: str, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of one history's memory, out of those of its batch."""
    return {
        name: table.filter(pc.field("history") == pc.scalar(history)).drop_columns(["history"])
        for name, table in tables.items()
    }
