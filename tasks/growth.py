"""Stage `growth`: how a memory of each history grows, session by session, and what it has left twice.

Only for one's own conversations (`tasks.own_plan`), whether or not there are questions.
"""

from __future__ import annotations

from typing import Any

from memory.conversation import History
from memory.duplicates import near_duplicates
from memory.errors import CallFailed
from memory.protocol import MemorySystem
from memory.systems import find
from memory.systems.graph import GraphMemory
from results.schemas import HISTORY_GROWTH, HISTORY_SIZES
from results.tables import from_rows
from tasks.context import open_memory
from tasks.extract import extracted, require_extracted
from tasks.load import loaded
from tasks.merge import in_order
from tasks.stage import Made, Stage, Work, count


def make(work: Work) -> Made:
    """Let a memory of each of a batch of histories grow, and measure it after every session."""
    histories = loaded(work)[0]
    condition = work.params["condition"]["name"]
    sizes: list[dict[str, Any]] = []
    growth: list[dict[str, Any]] = []
    for name in work.params["histories"]:
        identity = {"condition": condition, "history": name}
        try:
            points, size = _grown(work, histories[name])
        except CallFailed as failed:
            sizes.append({**identity, "status": "failed", "reason": failed.reason, "final": failed.final})
            continue
        growth += [{**identity, **point} for point in points]
        sizes.append({**identity, "status": "ok", **size})
    tables = {
        "history_growth": from_rows(growth, HISTORY_GROWTH),
        "history_sizes": from_rows(sizes, HISTORY_SIZES),
    }
    return Made(tables, count(sizes))


def _grown(work: Work, history: History) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The points of a history's growth, and what its memory comes to.

    Raises:
        CallFailed: If a turn's extraction or vector is not there.
    """
    condition = work.params["condition"]
    if find(condition["system"]).needs_extractions:
        require_extracted(work, history)
    memory = open_memory(condition, work)
    extractions = extracted(work)
    points: list[dict[str, Any]] = []
    turns = 0
    for session in in_order(history, condition["settings"]):
        memory.remember(session, extractions)
        turns += len(session.turns)
        where = {"session_position": session.position, "date": session.date, "turns": turns}
        points.append({**where, **_counted(memory)})
    last = {**(points[-1] if points else {}), "sessions": len(points)}
    size = {name: last[name] for name in HISTORY_SIZES.names if name in last}
    if isinstance(memory, GraphMemory):
        size["near_duplicates"] = len(near_duplicates(memory.graph, memory.dedup))
    return points, {**size, "bytes": memory.size().bytes}


def _counted(memory: MemorySystem) -> dict[str, int]:
    """What a memory holds now. A graph's own count spares making its tables after every session."""
    if not isinstance(memory, GraphMemory):
        size = memory.size()
        return {"items": size.items, "edges": size.edges}
    graph = memory.graph
    return {
        "items": len(graph),
        "edges": graph.topology.number_of_edges(),
        "found_by_title": graph.found_by_title,
        "found_by_similarity": graph.found_by_similarity,
    }


STAGE = Stage("growth", 2, make)
