"""The memory graphs in a run folder, as rows: `graphs/<graph>/{nodes,edges,turns}.parquet` and their archives.

GAAMA's are called items and links; see `results.graph_view.items`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from memory.errors import BadInput
from results.graph_view.items import item_rows
from results.report.sources import RunFolder

_NODES = (
    "history", "id", "label", "title", "content", "created_at", "access_count", "last_accessed_at", "degree", "sources",
)  # fmt: skip
_EDGES = ("history", "source", "relationship", "target", "sources")
_TURNS = ("turn", "session", "date", "role", "speaker", "text")
_NAMED = 5
"""Histories that a message names."""


@dataclass(frozen=True, slots=True)
class GraphRows:
    """What a graph holds of one history.

    Attributes:
        turns: In the order in which they were remembered, with the columns of the run's `turns`.
        nodes: With the columns of the graph's `nodes`, `score` (of the forgetting pass, none without one) and
            `forgotten`.
        edges: With the columns of the graph's `edges`.
    """

    turns: Sequence[Mapping[str, Any]]
    nodes: Sequence[Mapping[str, Any]]
    edges: Sequence[Mapping[str, Any]]


def graphs(run: RunFolder) -> list[str]:
    """The names of the run's graphs.

    Raises:
        BadInput: If it has none.
    """
    tables = (path for name in ("nodes", "items") for path in (run.base / "graphs").glob(f"*/{name}.parquet"))
    found = sorted({path.parent.name for path in tables})
    if not found:
        raise BadInput(
            f"{run.folder} has no memory graph: none of its conditions builds one, or it has not got so far"
        )
    return found


def graph_rows(run: RunFolder, graph: str, history: str) -> GraphRows:
    """What a graph (one of `graphs`) holds of a history.

    Raises:
        BadInput: If the run has no such history.
        TornTable: If a table is not whole.
    """
    said = _said(run, graph, history)
    if (run.base / "graphs" / graph / "items.parquet").exists():
        items, links = item_rows(run, graph, history)
        kept = {"score": None, "forgotten": False}
        return GraphRows(list(said.values()), [{**item, **kept} for item in items], links)
    ids = pa.array(list(said), pa.string())
    scores = _scores(run, graph)
    nodes = [
        {**row, "score": scores.get(row["id"]), "forgotten": archived}
        for name, archived in (("nodes", False), ("archive_nodes", True))
        for row in _part(run, f"graphs/{graph}/{name}", _NODES, history, ids)
    ]
    edges = [
        row
        for name in ("edges", "archive_edges")
        for row in _part(run, f"graphs/{graph}/{name}", _EDGES, history, ids)
    ]
    return GraphRows(list(said.values()), nodes, edges)


def _said(run: RunFolder, graph: str, history: str) -> dict[str, Mapping[str, Any]]:
    """The history's turns by id, in the order in which the graph has remembered them."""
    table = run.table("turns", _TURNS, where=[("history", "==", history)])
    if table is None or table.num_rows == 0:
        raise BadInput(f"{run.folder} has no history {history!r}; it has {_histories(run)}")
    said: dict[str, Mapping[str, Any]] = {row["turn"]: row for row in table.to_pylist()}
    remembered = run.table(f"graphs/{graph}/turns", ("turn",))
    order = list(said) if remembered is None else [str(turn) for turn in remembered["turn"].to_pylist()]
    return {turn: said[turn] for turn in order if turn in said}


def _histories(run: RunFolder) -> str:
    table = run.table("turns", ("history",))
    names = [] if table is None else pc.unique(table["history"]).to_pylist()
    shown = ", ".join(map(repr, names[:_NAMED]))
    return f"{shown} and {len(names) - _NAMED:,} more" if len(names) > _NAMED else shown or "none yet"


def _part(
    run: RunFolder, name: str, columns: Sequence[str], history: str, turns: pa.Array[Any]
) -> list[dict[str, Any]]:
    """The rows of a graph's table that are of a history: by its name, or where all share a graph by their turns."""
    table = run.table(name, columns)
    if table is None:
        return []
    if table["history"].null_count == 0:
        table = table.filter(pc.equal(table["history"], pa.scalar(history)))
    here = pc.is_in(pc.list_flatten(table["sources"]), value_set=turns)
    return table.take(pc.unique(pc.list_parent_indices(table["sources"]).filter(here))).to_pylist()


def _scores(run: RunFolder, graph: str) -> dict[str, float]:
    """The importance of nodes that the last forgetting pass over this graph gave them."""
    table = run.table("forgetting", ("arm", "id", "score"))
    if table is None:
        return {}
    rows = table.filter(pc.equal(table["arm"], pa.scalar(graph)))
    return {row["id"]: row["score"] for row in rows.select(["id", "score"]).to_pylist()}
