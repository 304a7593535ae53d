"""The memory graph: nodes, edges, vectors and titles that are updated together and never rebuilt.

NetworkX holds the topology; what later scoring needs of every node stands in one array with a row for each
node, and its vector in the same row of the vector index, whose live mask says which rows count. Adding,
finding and touching cost the same at any size of the graph.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import chain

import networkx as nx
import numpy as np
import numpy.typing as npt

from memory.ann import ApproximateIndex
from memory.attributes import Attributes
from memory.extraction import ExtractedNode
from memory.models import Vectors
from memory.profiles import GraphSettings
from memory.titles import TitleIndex
from memory.vectors import Mask, VectorIndex, grown

COLUMNS = np.dtype(
    [
        ("created_at", "datetime64[us]"),
        ("last_accessed_at", "datetime64[us]"),
        ("access_count", np.int64),
        ("turns_at_creation", np.int64),
        ("turns_at_last_access", np.int64),
        ("degree", np.int64),
        ("label", np.int64),
    ]
)
"""Columns of a node's row. Times are UTC; never accessed is NaT, and -1 in `turns_at_last_access`. `degree`
counts edges in and out, a self-loop twice; `label` is the label's number in the graph's `labels`."""


@dataclass(slots=True)
class Node:
    """An entity. `sources` are the turns that it stands on, in order."""

    id: str
    row: int
    label: str
    title: str
    content: str | None
    attributes: Attributes
    session: str
    sources: list[str]


@dataclass(slots=True)
class Edge:
    """A directed relation. `order` counts edges in the order they were stored."""

    order: int
    source: str
    target: str
    relationship: str
    attributes: Attributes
    created_at: datetime | None
    session: str
    sources: list[str]


@dataclass(frozen=True, slots=True)
class Moment:
    """Where a turn stands: its id, its session's id and date, and its number among the merged turns."""

    turn: str
    session: str
    time: datetime | None
    number: int = 0


@dataclass(eq=False)
class MemoryGraph:
    """The graph of one memory.

    Attributes:
        dimensions: Length of a vector.
        settings: The switches it was built with, and must be used with.
        namespace: Goes into every node's id.
        topology: Node ids, and edges keyed by their relationship; the objects are in the data key `it`.
        moments: Each merged turn's moment, by turn id, in order. Their number is the turn counter T.
        unembedded: How many extracted nodes could not be stored for want of a vector.
        found_by_title: How many extracted nodes merging has found again by their titles; tables do not keep it.
        found_by_similarity: How many it has found again by their vectors; likewise.

    Raises:
        BadInput: If the settings ask for an approximate index and the extra `ann` is not installed.
    """

    dimensions: int
    settings: GraphSettings
    namespace: str = ""
    topology: nx.MultiDiGraph[str] = field(default_factory=nx.MultiDiGraph)
    moments: dict[str, Moment] = field(default_factory=dict)
    labels: dict[str, int] = field(default_factory=dict)
    unembedded: int = 0
    found_by_title: int = 0
    found_by_similarity: int = 0

    def __post_init__(self) -> None:
        index = ApproximateIndex if self.settings.index == "approximate" else VectorIndex
        self.vectors: VectorIndex = index(self.dimensions)
        self.titles = TitleIndex(self.settings)
        self._columns = np.zeros(0, COLUMNS)
        self._ids: list[str] = []
        self._edges = 0

    @property
    def turns(self) -> int:
        """The turn counter T: how many turns were merged."""
        return len(self.moments)

    @property
    def columns(self) -> npt.NDArray[np.void]:
        """The nodes' columns by row, dead rows included, as a view."""
        return self._columns[: len(self._ids)]

    @property
    def live(self) -> Mask:
        """Which rows hold a node."""
        return self.vectors.live

    def __contains__(self, node: str) -> bool:
        return node in self.topology

    def __len__(self) -> int:
        return len(self.topology)

    def node(self, node: str) -> Node:
        """A node by its id."""
        found: Node = self.topology.nodes[node]["it"]
        return found

    def node_at(self, row: int) -> Node:
        """The node of a live row."""
        return self.node(self._ids[row])

    def nodes(self) -> Iterator[Node]:
        """All nodes, oldest first."""
        return (self.node_at(int(row)) for row in np.flatnonzero(self.live))

    def edges(self) -> list[Edge]:
        """All edges, oldest first."""
        found: list[Edge] = [data["it"] for _, _, data in self.topology.edges(data=True)]
        return sorted(found, key=lambda edge: edge.order)

    def incident(self, node: str) -> list[Edge]:
        """The edges in and out of a node, oldest first; a self-loop once."""
        ends: Iterable[tuple[str, str, Edge]] = chain(
            self.topology.out_edges(node, data="it"), self.topology.in_edges(node, data="it")
        )
        found = {edge.order: edge for _, _, edge in ends}
        return [found[order] for order in sorted(found)]

    def edges_between(self, nodes: Iterable[str]) -> list[Edge]:
        """The edges whose two ends are among some nodes, oldest first."""
        held = set(nodes)
        found: list[Edge] = []
        for source in held:
            neighbours = self.topology[source]
            # The smaller side is walked: a hub has thousands of neighbours, a subgraph fifteen nodes.
            for target in held if len(held) < len(neighbours) else neighbours:
                if target in held and target in neighbours:
                    found += [data["it"] for data in neighbours[target].values()]
        return sorted(found, key=lambda edge: edge.order)

    def find_edge(self, source: str, relationship: str, target: str) -> Edge | None:
        """The edge of that relationship between two nodes."""
        data = self.topology.get_edge_data(source, target, self.edge_key(relationship))
        return data["it"] if data else None

    def edge_key(self, relationship: str) -> str:
        """What makes two relationships the same (facts, section 6)."""
        if not self.settings.normalise_relationships:
            return relationship
        return " ".join(relationship.casefold().replace("_", " ").replace("-", " ").split())

    def add_node(self, id: str, at: Moment, node: ExtractedNode, vector: Vectors) -> Node:
        """Store a new node.

        Raises:
            ValueError: If the id is taken, or the vector is refused (`VectorIndex.unit`). The graph is
            unchanged.
        """
        if id in self.topology:
            raise ValueError(f"node {id} exists already")
        row = self.vectors.add(vector)
        if row == len(self._columns):
            self._columns = grown(self._columns)
        label = self.labels.setdefault(node.label, len(self.labels))
        self._columns[row] = (stamp(at.time), stamp(None), 0, self.turns, -1, 0, label)
        self._ids.append(id)
        stored = Node(id, row, node.label, node.title, node.content, {}, at.session, [at.turn])
        self.topology.add_node(id, it=stored)
        self.titles.add(node.label, node.title, id)
        return stored

    def add_edge(self, source: str, relationship: str, target: str, at: Moment) -> Edge:
        """Store a new edge between two nodes.

        Raises:
            ValueError: If an end does not exist, or the edge does.
        """
        missing = [end for end in (source, target) if end not in self.topology]
        if missing:
            raise ValueError(f"an edge ends at node {missing[0]}, which does not exist")
        if self.find_edge(source, relationship, target):
            raise ValueError(f"the edge {source} -> {target} exists already")
        edge = Edge(self._edges, source, target, relationship, {}, at.time, at.session, [at.turn])
        self.topology.add_edge(source, target, key=self.edge_key(relationship), it=edge)
        self._edges += 1
        for end in (source, target):
            self._columns["degree"][self.node(end).row] += 1
        return edge

    def touch(self, nodes: Iterable[str], time: datetime | None) -> None:
        """Count one access to each node, at a time and at the present turn counter."""
        rows = [self.node(node).row for node in nodes]
        when = np.full(len(rows), stamp(time))
        before = self._columns["last_accessed_at"][rows]
        if self.settings.monotone_access:
            when = np.fmax(before, when)  # fmax: NaT loses to a time
        elif time is None:
            when = before
        self._columns["access_count"][rows] += 1
        self._columns["last_accessed_at"][rows] = when
        self._columns["turns_at_last_access"][rows] = self.turns

    def remove_nodes(self, nodes: Iterable[str]) -> int:
        """Remove nodes with their edges, vectors, provenance and, by the settings, titles.

        Returns:
            How many edges went.

        Raises:
            KeyError: If one does not exist. The graph is unchanged.
        """
        gone = {node: self.node(node) for node in nodes}
        edges = {edge.order: edge for node in gone for edge in self.incident(node)}
        for edge in edges.values():
            for end in (edge.source, edge.target):
                self._columns["degree"][self.node(end).row] -= 1
        for node in gone.values():
            if self.settings.clean_titles:
                self.titles.remove(node.label, node.title, node.id)
        self.topology.remove_nodes_from(gone)
        self.vectors.remove([node.row for node in gone.values()])
        for node in gone.values():
            self._ids[node.row] = ""
        if len(self._ids) > 2 * len(self):
            self._compact()
        return len(edges)

    def _compact(self) -> None:
        """Close the gaps of removed rows: done once they are the greater part, so removals share the cost."""
        kept = self.vectors.compact()
        self._columns = self._columns[kept]
        self._ids = [self._ids[row] for row in kept]
        for row, node in enumerate(self._ids):
            self.node(node).row = row

    def check(self) -> None:
        """Verify that graph, columns, vectors and titles agree.

        Raises:
            ValueError: Naming the first thing that does not.
        """
        self.vectors.check()
        rows = {node: data["it"].row for node, data in self.topology.nodes(data=True)}
        live = {node: row for row, node in enumerate(self._ids) if self.live[row]}
        if rows != live or len(self.vectors) != len(self._ids):
            raise ValueError("rows and nodes do not agree")
        for node in self.nodes():
            self._check_node(node)
        for source, target, key, data in self.topology.edges(keys=True, data=True):
            edge: Edge = data["it"]
            if (source, target, key) != (edge.source, edge.target, self.edge_key(edge.relationship)):
                raise ValueError(
                    f"the edge {source} -> {target} is filed under other ends or another relationship"
                )
            self._check_provenance(edge, f"the edge {source} -> {target}")
        orders = [edge.order for edge in self.edges()]
        if len(set(orders)) != len(orders) or (orders and orders[-1] >= self._edges):
            raise ValueError("two edges have the same order, or one has an order not given out yet")
        for key, owner in self.titles.entries.items():
            if owner in self and key != self.titles.key(self.node(owner).label, self.node(owner).title):
                raise ValueError(f"a title names node {owner}, which has another")
            if owner not in self and self.settings.clean_titles:
                raise ValueError(f"a title names node {owner}, which does not exist")

    def _check_node(self, node: Node) -> None:
        row = self._columns[node.row]
        if row["degree"] != self.topology.degree(node.id):
            raise ValueError(f"node {node.id} has another degree than its row says")
        if row["label"] != self.labels.get(node.label):
            raise ValueError(f"node {node.id} has another label than its row says")
        if (row["access_count"] > 0) != (row["turns_at_last_access"] >= 0) or row["access_count"] < 0:
            raise ValueError(f"node {node.id} has an access count that does not fit its last access")
        self._check_provenance(node, f"node {node.id}")

    def _check_provenance(self, item: Node | Edge, name: str) -> None:
        if not item.sources or len(set(item.sources)) != len(item.sources):
            raise ValueError(f"{name} has no source turn, or one twice")
        told = {version.turn for held in item.attributes.values() for version in held}
        if not (told | set(item.sources)) <= self.moments.keys():
            raise ValueError(f"{name} stands on a turn that was never merged")


def node_id(namespace: str, turn: str, ordinal: int) -> str:
    """The id of the node that was the ordinal-th of a turn when it was first stored."""
    return hashlib.sha256(json.dumps([namespace, turn, ordinal]).encode()).hexdigest()[:24]


def stamp(time: datetime | None) -> np.datetime64:
    """A moment as NumPy holds it: UTC, microseconds; none is NaT. A time without a zone is UTC."""
    if time is None:
        return np.datetime64("NaT", "us")
    aware = time if time.tzinfo else time.replace(tzinfo=UTC)
    return np.datetime64(aware.astimezone(UTC).replace(tzinfo=None), "us")


def in_utc(time: datetime | None) -> datetime | None:
    """A moment in UTC; a time without a zone is UTC already."""
    if time is None:
        return None
    return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
