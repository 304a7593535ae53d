"""Stage `ingest`: one persistent graph over all histories, merged turn by turn in segments.

A segment goes on from the tables of the one before, so that a run stopped anywhere loses one segment at the most and
ends with the same graph.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import pyarrow as pa

from memory.conversation import History, Session
from memory.forgetting.limits import Limit, Schedule
from memory.forgetting.maintenance import Maintenance, maintain
from memory.forgetting.policies import policy
from memory.systems import find
from memory.systems.graph import GraphMemory
from tasks.context import memory_models, open_memory
from tasks.extract import extracted, require_extracted
from tasks.load import loaded
from tasks.stage import Made, Stage, Work

GROWTH = pa.schema({"turns": pa.int64(), "nodes": pa.int64(), "edges": pa.int64()})
GRAPH_TABLES = ("nodes", "edges", "titles", "turns")
_EVERY = 100  # turns between two points of the growth curve


def in_store_order(histories: Mapping[str, History], order: str) -> list[Session]:
    """All sessions in the order in which they enter the store.

    `file`: history after history, as published, so that time jumps back and forth. `time`: by date; equal dates and
    undated sessions stay in file order, the latter first.
    """
    sessions = [session for history in histories.values() for session in history.sessions]
    if order == "file":
        return sessions
    return sorted(sessions, key=lambda session: session.date.timestamp() if session.date else 0.0)


def graph_of(work: Work, name: str) -> GraphMemory:
    """The graph memory that an input of the work holds."""
    return graph_from(work, {table: work.read(name, table) for table in GRAPH_TABLES})


def graph_from(work: Work, tables: dict[str, pa.Table]) -> GraphMemory:
    """The graph memory of tables, with the settings of the work's condition."""
    arm = work.params["condition"]
    system = find(arm["system"])
    memory = system.from_tables(tables, system.Settings(**arm["settings"]), memory_models(work))
    if not isinstance(memory, GraphMemory):
        raise TypeError(f"{arm['system']} is no graph")
    return memory


def _turns(work: Work) -> Iterator[Session]:
    """The segment's turns, each as a session of its own: a pass may fall between any two of them."""
    histories, _, _ = loaded(work)
    sessions = in_store_order(histories, work.params["order"])
    first, count = work.params["first"], work.params["count"]
    for session in sessions[first : first + count]:
        for turn in session.turns:
            yield dataclasses.replace(session, turns=(turn,))


def _maintenance(work: Work) -> Maintenance | None:
    """How the work's chain forgets while it grows, if it does."""
    if "schedule" not in work.params:
        return None
    importance = policy("importance", work.params["importance"])
    return Maintenance(importance, Schedule(**work.params["schedule"]), Limit(**work.params["limit"]))


def make(work: Work) -> Made:
    """Merge a segment, with a forgetting pass whenever the work's `schedule` has one due."""
    extractions = extracted(work)
    for history in loaded(work)[0].values():
        require_extracted(work, history)
    memory = (
        graph_of(work, "before") if "before" in work.inputs else open_memory(work.params["condition"], work)
    )
    if not isinstance(memory, GraphMemory):
        raise TypeError("only a graph is ingested in segments")
    graph = memory.graph
    growth: list[dict[str, Any]] = []
    passes: list[pa.Table] = []
    maintenance = _maintenance(work)
    for session in _turns(work):
        memory.remember(session, extractions)
        forgotten = maintain(memory, maintenance, session.date, {}) if maintenance else None
        if forgotten:
            passes.append(forgotten.table)
        if graph.turns % _EVERY == 0:
            edges = graph.topology.number_of_edges()
            growth.append({"turns": graph.turns, "nodes": len(graph), "edges": edges})
    tables = {**memory.tables(), "growth": pa.Table.from_pylist(growth, schema=GROWTH)}
    if passes:
        tables["passes"] = pa.concat_tables(passes)
    return Made(
        tables, {"nodes": len(graph), "edges": graph.topology.number_of_edges(), "turns": graph.turns}
    )


STAGE = Stage("ingest", 1, make)
