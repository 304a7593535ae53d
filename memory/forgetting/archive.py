"""What was forgotten, kept apart as Arrow tables, and brought back: storing is not using."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from memory.errors import BadInput
from memory.graph import Edge, MemoryGraph
from memory.tables import TITLES, edge_table, from_tables, node_table, to_tables

TABLES = ("nodes", "edges", "titles")


def archived(graph: MemoryGraph, nodes: Sequence[str]) -> dict[str, pa.Table]:
    """Nodes that are about to be removed, with their edges and vectors, and the titles that will go with them.

    The tables `nodes`, `edges` and `titles` are those of the graph (`memory.tables`) with a column `position`: the
    row's place among all rows of the graph's own table before the removal.

    Raises:
        KeyError: If a node does not exist.
    """
    gone = set(nodes)
    held = sorted((graph.node(node) for node in gone), key=lambda node: node.row)
    edges: dict[int, Edge] = {edge.order: edge for node in held for edge in graph.incident(node.id)}
    orders = sorted(edges)
    titles = [
        (place, label, title, node)
        for place, ((label, title), node) in enumerate(graph.titles.entries.items())
        if graph.settings.clean_titles and node in gone
    ]
    named = [{"label": label, "title": title, "node": node} for _, label, title, node in titles]
    places = np.cumsum(graph.live) - 1
    standing = np.array([edge.order for edge in graph.edges()], np.int64) if edges else np.zeros(0, np.int64)
    return {
        "nodes": _placed(node_table(graph, held), places[[node.row for node in held]]),
        "edges": _placed(edge_table(edges[order] for order in orders), np.searchsorted(standing, orders)),
        "titles": _placed(pa.Table.from_pylist(named, schema=TITLES), [place for place, *_ in titles]),
    }


def restore(graph: MemoryGraph, archive: Mapping[str, pa.Table]) -> MemoryGraph:
    """The graph with what was archived back in its place; the given graph is not changed.

    Archives come back to the very graph in the reverse order in which they were made. In another order, and if the
    graph went on growing, everything that can come back does: an edge whose other end is still forgotten stays away,
    and so does a title that names another node by now. Times, counts and turn counters are those at the pass.

    Raises:
        BadInput: If the archive is not of this graph: a node is there already, or stands on a turn that never was.
    """
    missing = [name for name in TABLES if name not in archive or "position" not in archive[name].column_names]
    if missing:
        raise BadInput(f"the archive has no whole table named {missing[0]}; forget again with the archive on")
    back = [row["id"] for row in _rows(archive["nodes"], "id")]
    present = [node for node in back if node in graph]
    if present:
        raise BadInput(f"node {present[0]} of the archive is in the graph; it was brought back already")
    tables = to_tables(graph)
    ends = set(graph.topology) | set(back)
    edges = _rows(archive["edges"], "source", "target")
    whole = pa.array([edge["source"] in ends and edge["target"] in ends for edge in edges], pa.bool_())
    names = _rows(archive["titles"], "label", "title")
    free = pa.array(
        [(name["label"], name["title"]) not in graph.titles.entries for name in names], pa.bool_()
    )
    nodes = _spliced(tables["nodes"], archive["nodes"])
    # Rows are in order of creation; positions alone may break it if other nodes were forgotten in between.
    order = np.argsort(nodes.column("turns_at_creation").to_numpy(), kind="stable")
    spliced = {
        "nodes": nodes.take(order),
        "edges": _spliced(tables["edges"], archive["edges"].filter(whole)),
        "titles": _spliced(tables["titles"], archive["titles"].filter(free)),
    }
    return from_tables({**tables, **spliced}, graph.settings)


def _rows(table: pa.Table, *columns: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.select(list(columns)).to_pylist()
    return rows


def _placed(table: pa.Table, positions: Sequence[int] | np.ndarray[Any, Any]) -> pa.Table:
    return table.append_column("position", pa.array(positions, pa.int64()))


def _spliced(standing: pa.Table, placed: pa.Table) -> pa.Table:
    """A table with archived rows inserted so that each has its old position, as far as there are rows before it."""
    wanted = placed.column("position").to_numpy()
    total = standing.num_rows + placed.num_rows
    positions = _open_places(wanted, total)
    source = np.empty(total, np.int64)
    free = np.ones(total, np.bool_)
    free[positions] = False
    source[free] = np.arange(standing.num_rows)
    source[positions] = standing.num_rows + np.arange(placed.num_rows)
    added = placed.drop_columns(["position"]).cast(standing.schema)
    return pa.concat_tables([standing, added]).take(source).replace_schema_metadata(standing.schema.metadata)


def _open_places(wanted: np.ndarray[Any, Any], total: int) -> np.ndarray[Any, Any]:
    """Positions, ascending and distinct, moved forward only where the table has become too short for them."""
    last = total - len(wanted) + np.arange(len(wanted))
    return np.asarray(np.minimum(wanted, last), np.int64)
