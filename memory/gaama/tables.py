"""GAAMA's graph and waiting events as Arrow tables, and back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import networkx as nx
import pyarrow as pa

from memory.conversation import Observation
from memory.errors import BadInput
from memory.gaama.chunks import Event
from memory.gaama.graph import WEIGHTS, ConceptGraph, Item
from memory.tables import vector_column, vector_type, vectors_of

_TIME: pa.DataType = pa.timestamp("us", tz="UTC")
_TEXTS: pa.DataType = pa.list_(pa.field("element", pa.string()))
_OBSERVED: pa.DataType = pa.list_(
    pa.field("element", pa.struct([pa.field("text", pa.string()), pa.field("turns", _TEXTS)]))
)
_ITEM: dict[str, pa.DataType] = {
    "id": pa.string(),
    "kind": pa.string(),
    "text": pa.string(),
    "sequence": pa.int64(),
    "turn": pa.string(),
    "session": pa.string(),
    "time": _TIME,
    "belief": pa.float64(),
    "origin": pa.string(),
}
ITEMS = pa.schema(_ITEM).append(pa.field("sources", _TEXTS))
"""Columns of the items, without their vectors; `sources` are the turns that an item stands on."""
LINKS = pa.schema({"source": pa.string(), "type": pa.string(), "target": pa.string()})
_EVENT: dict[str, pa.DataType] = {
    "turn": pa.string(),
    "session": pa.string(),
    "time": _TIME,
    "speaker": pa.string(),
    "text": pa.string(),
    "first": pa.bool_(),
}
WAITING = pa.schema(_EVENT).append(pa.field("observed", _OBSERVED))
_STATE: dict[str, pa.DataType] = {
    "sequence": pa.int64(),
    "last_episode": pa.string(),
    "failed": pa.int64(),
    "unembedded": pa.int64(),
}
STATE = pa.schema(_STATE)
"""One row: what the memory knows beside its items."""


def graph_tables(graph: ConceptGraph) -> dict[str, pa.Table]:
    """The tables `items` and `links`; rows in the order they came to be."""
    items = list(graph.items.values())
    rows = [
        {name: getattr(item, name) for name in _ITEM} | {"sources": list(graph.turns_of(item))}
        for item in items
    ]
    nodes = pa.Table.from_pylist(rows, schema=ITEMS)
    vectors = vector_column(graph.vectors.matrix[[item.row for item in items]])
    nodes = nodes.append_column(pa.field("vector", vector_type(graph.vectors.dimensions)), vectors)
    joined = sorted(graph.topology.edges(data=True), key=lambda edge: edge[2]["order"])
    edges = [{"source": s, "type": data["type"], "target": t} for s, t, data in joined]
    return {"items": nodes, "links": pa.Table.from_pylist(edges, schema=LINKS)}


def graph_of(tables: Mapping[str, pa.Table], dimensions: int) -> ConceptGraph:
    """The graph of the tables `items` and `links`.

    Raises:
        BadInput: If they do not fit one another.
    """
    graph = ConceptGraph(dimensions)
    try:
        kept = tables["items"].drop_columns(["vector", "sources"]).to_pylist()
        for row, vector in zip(kept, vectors_of(tables["items"], dimensions), strict=True):
            graph.add(Item(row=-1, **row), vector)
        for row in tables["links"].to_pylist():
            if row["type"] not in WEIGHTS or not {row["source"], row["target"]} <= graph.items.keys():
                raise ValueError("an edge has an unknown type or end")
            graph.join(row["type"], row["source"], row["target"])
    except (KeyError, ValueError, nx.NetworkXError) as error:
        raise BadInput(f"the memory's tables do not fit one another ({error}); build it again") from error
    return graph


def waiting_table(waiting: Sequence[Event], observed: Mapping[str, Sequence[Observation]]) -> pa.Table:
    """The events that wait for their chunk to be full, with what was observed of them."""
    rows = [
        {
            **{name: getattr(event, name) for name in _EVENT},
            "observed": [
                {"text": found.text, "turns": list(found.turns)} for found in observed.get(event.turn, ())
            ],
        }
        for event in waiting
    ]
    return pa.Table.from_pylist(rows, schema=WAITING)


def waiting_of(table: pa.Table) -> tuple[list[Event], dict[str, list[Observation]]]:
    """The events that wait, and what was observed by the turn that it ends with."""
    events, observed = [], {}
    for row in table.to_pylist():
        found = [Observation(each["text"], tuple(each["turns"])) for each in row.pop("observed")]
        events.append(Event(**row))
        if found:
            observed[row["turn"]] = found
    return events, observed
