"""The graph as Arrow tables, and back: the graph that comes back recalls and merges as the first would."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from memory.attributes import Attributes, Version
from memory.errors import BadInput
from memory.extraction import ExtractedNode
from memory.graph import Edge, MemoryGraph, Moment, Node
from memory.models import Vectors
from memory.profiles import GraphSettings

VERSION = 1
_TIME: pa.DataType = pa.timestamp("us", tz="UTC")
# "element" is what Parquet calls the items of a list: so a table comes back with the very schema it had.
_SOURCES: pa.DataType = pa.list_(pa.field("element", pa.string()))
_VERSION: pa.DataType = pa.struct(
    [
        ("name", pa.string()),
        ("value", pa.string()),  # JSON, so that a value keeps its type
        ("time", _TIME),
        ("turn", pa.string()),
        ("confidence", pa.float64()),
    ]
)
_ATTRIBUTES: pa.DataType = pa.list_(pa.field("element", _VERSION))
"""The versions of each attribute, one name after another; the last version of a name is the one that
stands."""

EDGES = pa.schema(
    {
        "source": pa.string(),
        "relationship": pa.string(),
        "target": pa.string(),
        "attributes": _ATTRIBUTES,
        "created_at": _TIME,
        "session": pa.string(),
        "sources": _SOURCES,
    }
)
TITLES = pa.schema([("label", pa.string()), ("title", pa.string()), ("node", pa.string())])
TURNS = pa.schema([("turn", pa.string()), ("session", pa.string()), ("time", _TIME)])


def node_schema(dimensions: int) -> pa.Schema:
    """The columns of the nodes of a graph with vectors of that length."""
    return pa.schema(
        [
            ("id", pa.string()),
            ("label", pa.string()),
            ("title", pa.string()),
            ("content", pa.string()),
            ("attributes", _ATTRIBUTES),
            ("created_at", _TIME),
            ("session", pa.string()),
            ("access_count", pa.int64()),
            ("last_accessed_at", _TIME),
            ("turns_at_creation", pa.int64()),
            ("turns_at_last_access", pa.int64()),
            ("degree", pa.int64()),
            ("sources", _SOURCES),
            ("vector", vector_type(dimensions)),
        ]
    )


def to_tables(graph: MemoryGraph) -> dict[str, pa.Table]:
    """The graph as the tables `nodes`, `edges`, `titles` and `turns`, rows in the order they came to be."""
    facts = {"namespace": graph.namespace, "dimensions": graph.dimensions, "unembedded": graph.unembedded}
    metadata = {"palimpsest.graph.version": str(VERSION), "palimpsest.graph": json.dumps(facts)}
    titles = [
        {"label": label, "title": title, "node": node}
        for (label, title), node in graph.titles.entries.items()
    ]
    turns = [{"turn": m.turn, "session": m.session, "time": m.time} for m in graph.moments.values()]
    tables = {
        "nodes": node_table(graph, list(graph.nodes())),
        "edges": edge_table(graph.edges()),
        "titles": pa.Table.from_pylist(titles, schema=TITLES),
        "turns": pa.Table.from_pylist(turns, schema=TURNS),
    }
    return {name: table.replace_schema_metadata(metadata) for name, table in tables.items()}


def from_tables(tables: Mapping[str, pa.Table], settings: GraphSettings) -> MemoryGraph:
    """The graph that tables came from.

    Raises:
        BadInput: If they are no graph's tables, of a later version, or do not fit one another.
    """
    facts = _facts(tables)
    graph = MemoryGraph(facts["dimensions"], settings, facts["namespace"], unembedded=facts["unembedded"])
    try:
        rows = tables["nodes"].drop_columns(["vector"]).to_pylist()
        for row, vector in zip(rows, vectors_of(tables["nodes"], graph.dimensions), strict=True):
            _restore_node(graph, row, vector)
        for name in ("access_count", "last_accessed_at", "turns_at_creation", "turns_at_last_access"):
            graph.columns[name] = tables["nodes"][name].to_numpy()
        for row in tables["edges"].to_pylist():
            edge = graph.add_edge(row["source"], row["relationship"], row["target"], _moment(row))
            edge.attributes, edge.sources = _attributes(row["attributes"]), row["sources"]
        graph.titles.restore({(r["label"], r["title"]): r["node"] for r in tables["titles"].to_pylist()})
        for row in tables["turns"].to_pylist():
            graph.moments[row["turn"]] = Moment(row["turn"], row["session"], row["time"], graph.turns)
        graph.check()
    except ValueError as error:
        raise BadInput(
            f"the graph's tables do not fit one another ({error}); build the graph again"
        ) from error
    return graph


def same(a: MemoryGraph, b: MemoryGraph) -> bool:
    """Whether two graphs hold the same, to the bit."""
    ours, theirs = to_tables(a), to_tables(b)
    return all(ours[name].equals(theirs[name], check_metadata=True) for name in ours)


def _facts(tables: Mapping[str, pa.Table]) -> dict[str, Any]:
    missing = [name for name in ("nodes", "edges", "titles", "turns") if name not in tables]
    if missing:
        raise BadInput(f"a graph's table named {missing[0]} is missing; build the graph again")
    metadata = tables["nodes"].schema.metadata or {}
    version = metadata.get(b"palimpsest.graph.version", b"").decode()
    if not version.isdigit():
        raise BadInput(
            "the table of nodes does not say which version of a graph it is; build the graph again"
        )
    if int(version) > VERSION:
        raise BadInput(f"the graph is of version {version}, this program reads up to {VERSION}; update it")
    facts: dict[str, Any] = json.loads(metadata[b"palimpsest.graph"])
    return facts


def node_table(graph: MemoryGraph, nodes: Sequence[Node]) -> pa.Table:
    """Some nodes of a graph, with their columns and vectors, in the order given."""
    rows = np.array([node.row for node in nodes], np.intp)
    columns = graph.columns[rows]
    # The numbers go over as whole columns; only texts are walked node by node.
    data = [
        pa.array([node.id for node in nodes], pa.string()),
        pa.array([node.label for node in nodes], pa.string()),
        pa.array([node.title for node in nodes], pa.string()),
        pa.array([node.content for node in nodes], pa.string()),
        pa.array([_versions(node.attributes) for node in nodes], _ATTRIBUTES),
        pa.array(columns["created_at"]).cast(_TIME),
        pa.array([node.session for node in nodes], pa.string()),
        pa.array(columns["access_count"]),
        pa.array(columns["last_accessed_at"]).cast(_TIME),
        pa.array(columns["turns_at_creation"]),
        pa.array(columns["turns_at_last_access"]),
        pa.array(columns["degree"]),
        pa.array([node.sources for node in nodes], _SOURCES),
        vector_column(graph.vectors.matrix[rows]),
    ]
    return pa.Table.from_arrays(data, schema=node_schema(graph.dimensions))


def edge_table(edges: Iterable[Edge]) -> pa.Table:
    """Edges, in the order given."""
    return pa.Table.from_pylist([_edge_row(edge) for edge in edges], schema=EDGES)


def _edge_row(edge: Edge) -> dict[str, object]:
    return {
        "source": edge.source,
        "relationship": edge.relationship,
        "target": edge.target,
        "attributes": _versions(edge.attributes),
        "created_at": edge.created_at,
        "session": edge.session,
        "sources": edge.sources,
    }


def _versions(attributes: Attributes) -> list[dict[str, object]]:
    return [
        {
            "name": name,
            "value": json.dumps(version.value, ensure_ascii=False),
            "time": version.time,
            "turn": version.turn,
            "confidence": version.confidence,
        }
        for name, held in attributes.items()
        for version in held
    ]


def _attributes(rows: Iterable[Mapping[str, Any]]) -> Attributes:
    attributes: Attributes = {}
    for row in rows:
        version = Version(json.loads(row["value"]), row["time"], row["turn"], row["confidence"])
        attributes.setdefault(row["name"], []).append(version)
    return attributes


def vector_type(dimensions: int) -> pa.DataType:
    """The Arrow type of a column of vectors."""
    return pa.list_(pa.field("element", pa.float32()), dimensions)


def vector_column(matrix: Vectors) -> pa.Array[Any]:
    """A matrix `(rows, dimensions)` as a column of vectors."""
    dimensions = matrix.shape[1]
    flat = pa.array(np.ascontiguousarray(matrix).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(flat, dimensions).cast(vector_type(dimensions))


def vectors_of(table: pa.Table, dimensions: int) -> Vectors:
    """The column `vector` of a table as a matrix `(rows, dimensions)`."""
    flat = pc.list_flatten(table.column("vector")).to_numpy()
    return np.asarray(flat, np.float32).reshape(table.num_rows, dimensions)


def _restore_node(graph: MemoryGraph, row: Mapping[str, Any], vector: Vectors) -> None:
    as_new = ExtractedNode(key=row["id"], label=row["label"], title=row["title"], content=row["content"])
    node = graph.add_node(row["id"], _moment(row), as_new, vector)
    node.attributes, node.sources = _attributes(row["attributes"]), row["sources"]


def _moment(row: Mapping[str, Any]) -> Moment:
    """When a node or edge was made, from its row; its first source turn made it."""
    if not row["sources"]:
        raise ValueError("a row has no source turn")
    return Moment(row["sources"][0], row["session"], row["created_at"])
