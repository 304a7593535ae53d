"""Stage `merge`: some histories become one memory each.

From extractions that is sequential, deterministic and free. A system whose extraction must see its memory asks its
builder here, in order within a history; what was bought is found again, so that a killed run goes on where it was.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memory.conversation import History, Session
from memory.errors import CallFailed
from memory.protocol import Finishing, MemorySystem, Models
from memory.systems import find
from tasks.context import memory_models
from tasks.extract import extracted, require_extracted
from tasks.load import loaded
from tasks.stage import Made, Stage, Work, count

UNBUILT = "unbuilt"
"""Table of the histories whose memory could not be built; it is there if there are any."""
_COLUMNS: dict[str, pa.DataType] = {
    "history": pa.string(),
    "status": pa.string(),
    "reason": pa.string(),
    "final": pa.bool_(),
}
_UNBUILT = pa.schema(_COLUMNS)


def make(work: Work) -> Made:
    """Build the memories of a batch of histories and keep them as tables with a `history` column."""
    built: list[tuple[str, dict[str, pa.Table] | CallFailed]] = []
    for name in work.params["histories"]:
        try:
            built.append((name, remembered(work, name).tables()))
        except CallFailed as failed:
            built.append((name, failed))
    return keep(built)


def keep(memories: Sequence[tuple[str, dict[str, pa.Table] | CallFailed]]) -> Made:
    """The tables of several histories' memories as one each, and those that could not be built with their reasons."""
    parts: dict[str, list[pa.Table]] = {}
    unbuilt: list[dict[str, Any]] = []
    for name, memory in memories:
        if isinstance(memory, CallFailed):
            unbuilt.append(
                {"history": name, "status": "failed", "reason": memory.reason, "final": memory.final}
            )
            continue
        for table, rows in memory.items():
            history = pa.array([name] * rows.num_rows, pa.string())
            parts.setdefault(table, []).append(rows.add_column(0, "history", history))
    tables = {name: pa.concat_tables(part) for name, part in parts.items()}
    counts = count(unbuilt)
    if unbuilt:
        tables[UNBUILT] = pa.Table.from_pylist(unbuilt, schema=_UNBUILT)
    return Made(tables, {"ok": len(memories) - len(unbuilt), **counts})


def remembered(work: Work, name: str) -> MemorySystem:
    """A new memory of the work's condition that has heard a whole history.

    Raises:
        CallFailed: If a turn's extraction or vector is not there.
    """
    return heard(work, loaded(work)[0][name], memory_models(work))


def heard(work: Work, history: History, models: Models) -> MemorySystem:
    """As `remembered`, of any sessions as a history, with other models than the work's own.

    Raises:
        CallFailed: As `remembered`.
    """
    condition = work.params["condition"]
    system = find(condition["system"])
    if system.needs_extractions:
        require_extracted(work, history)
    memory = system(system.Settings(**condition["settings"]), models)
    extractions = extracted(work) if system.needs_extractions else {}
    for session in in_order(history, condition["settings"]):
        memory.remember(session, extractions)
    if isinstance(memory, Finishing):
        memory.finish()
    return memory


def built_beforehand(system: type[MemorySystem]) -> bool:
    """Whether this stage builds a system's memories; others are as quickly made anew for each recall."""
    return system.needs_extractions or "builder" in system.asks


def build_key(arm: Mapping[str, Any], *, in_order: bool) -> str:
    """What arms have in common that are built alike; with sessions in order of time, no order differs."""
    fields = set(getattr(find(arm["system"]), "built_by", arm["settings"]))
    if in_order:
        fields -= {"session_order"}
    return repr((arm["system"], sorted((name, arm["settings"][name]) for name in fields)))


def in_order(history: History, settings: Mapping[str, Any]) -> tuple[Session, ...]:
    """The sessions of a history in the order in which a system with these settings wants to hear them.

    Where one has no date, time gives no order, and that of the file stands.
    """
    dated = all(session.date is not None for session in history.sessions)
    by_date = settings.get("session_order") == "date" and dated
    return history.by_date() if by_date else history.sessions


STAGE = Stage("merge", 3, make)


def merged(work: Work, history: str, tables: dict[str, pa.Table]) -> dict[str, pa.Table]:
    """The tables of one history's memory, out of those of its batch.

    Raises:
        CallFailed: If it could not be built.
    """
    mine = {name: table.filter(pc.field("history") == pc.scalar(history)) for name, table in tables.items()}
    if UNBUILT in mine and mine[UNBUILT].num_rows:
        row = mine[UNBUILT].to_pylist()[0]
        raise CallFailed(row["reason"], final=row["final"])
    return {name: table.drop_columns(["history"]) for name, table in mine.items() if name != UNBUILT}
