"""Merging what was extracted from a turn into the graph: two-step de-duplication, then nodes, then edges.

Paper, section 3.4; facts, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.ann import ApproximateIndex
from memory.attributes import merge_attributes, versions
from memory.dates import normalise_dates
from memory.extraction import ExtractedEdge, ExtractedNode, Extraction, Scalar
from memory.graph import Edge, MemoryGraph, Moment, Node, in_utc, node_id
from memory.models import Vectors
from memory.vectors import TOLERANCE, Rows, VectorIndex, reaches

USER_CONTENT = "the user whose conversations are remembered"
"""The user node always has this content, so that its descriptor is the same in every turn (facts, section
3)."""
SHARED = 64
"""Nodes that one scan of the vectors serves, if several turns are merged together: their similarities to a million
rows take 256 MB."""


def descriptor(label: str, title: str, content: str | None) -> str:
    """The text that stands for an entity in vector space (facts, section 5)."""
    return f"{label}: {title}, {content}" if content else f"{label}: {title}"


def prepared(extraction: Extraction) -> tuple[ExtractedNode, ...]:
    """The nodes of an extraction as they are described and stored: the user node with its fixed content."""
    return tuple(
        node.model_copy(update={"content": USER_CONTENT})
        if node.label == "Person" and node.title.lower() == "user"
        else node
        for node in extraction.nodes
    )


@dataclass(frozen=True)
class ToMerge:
    """A turn that is to be merged.

    Attributes:
        at: The turn; its number is given when it is merged.
        extraction: What was extracted from it; empty for a turn that could not be extracted.
        vectors: One for the descriptor of each of `prepared(extraction)`. A node without one is stored only
            as part of a node of its title.
    """

    at: Moment
    extraction: Extraction
    vectors: Sequence[Vectors | None]


def merge_turns(graph: MemoryGraph, turns: Sequence[ToMerge], dedup: float) -> None:
    """Merge turns, one after another; the graph is that of merging each alone, but they share the scan.

    A turn that was merged before changes nothing, so that a memory can be fed again.

    Args:
        graph: Is changed.
        turns: In order.
        dedup: Cosine from which two descriptors are one entity.

    Raises:
        ValueError: If a vector is refused; the graph is unchanged.
    """
    new = [turn for turn in turns if turn.at.turn not in graph.moments]
    units = [
        None if vector is None else graph.vectors.unit(vector) for turn in new for vector in turn.vectors
    ]
    matcher = _Matcher(graph, units, dedup)
    first = 0
    for turn in new:
        nodes = prepared(turn.extraction)
        if turn.at.turn not in graph.moments:
            _merge_turn(matcher, turn, nodes, first)
        first += len(nodes)


def merge_turn(
    graph: MemoryGraph, at: Moment, extraction: Extraction, vectors: Sequence[Vectors | None], dedup: float
) -> None:
    """Merge one turn, as `merge_turns`."""
    merge_turns(graph, [ToMerge(at, extraction, vectors)], dedup)


def _merge_turn(matcher: _Matcher, turn: ToMerge, nodes: Sequence[ExtractedNode], first: int) -> None:
    """Merge a turn whose nodes' vectors are the matcher's from number `first` on."""
    graph = matcher.graph
    at = Moment(turn.at.turn, turn.at.session, in_utc(turn.at.time), graph.turns)
    within = graph.settings.dedup_within_turn
    before = [] if within else [matcher.find(node, first + i) for i, node in enumerate(nodes)]
    known = len(graph.vectors)
    stored: dict[str, Node] = {}
    seen_again: dict[str, None] = {}
    for i, node in enumerate(nodes):
        found = matcher.find(node, first + i) if within else before[i]
        if found and found.row < known:
            seen_again[found.id] = None
        home = found or _new_node(graph, at, node, i, matcher.units[first + i])
        if home:
            _merge_node(graph, home, node, at)
            stored[node.key] = home
    graph.touch(seen_again, at.time)
    for edge in turn.extraction.edges:
        _merge_edge(graph, stored, edge, at)
    graph.moments[at.turn] = at


class _Matcher:
    """Finds the stored node that an extracted one is. Nodes are numbered through all turns, in order."""

    def __init__(self, graph: MemoryGraph, units: Sequence[Vectors | None], dedup: float) -> None:
        self.graph = graph
        self.units = units
        self.dedup = dedup
        self.scan = _Scan(graph.vectors, units)

    def find(self, node: ExtractedNode, number: int) -> Node | None:
        """By title within the label, else the most similar node, if it is similar enough."""
        graph, unit = self.graph, self.units[number]
        owner = graph.titles.find(node.label, node.title)
        if owner and owner in graph and graph.node(owner).label == node.label:
            graph.found_by_title += 1
            return graph.node(owner)
        if unit is None:
            return None
        if isinstance(graph.vectors, ApproximateIndex):
            rows, scores = graph.vectors.candidates(unit[None])
        else:
            # Float32 similarities are within the tolerance: no row that reaches the threshold is left out.
            rows, scores = self.scan.from_floor(number, unit, self.dedup - TOLERANCE)
        if graph.settings.dedup_within_label:
            allowed = graph.columns["label"][rows] == graph.labels.get(node.label, -1)
            rows, scores = rows[allowed], scores[allowed]
        best = graph.vectors.best(unit, rows, scores)
        if best is None or not reaches(best[1], self.dedup, strict=graph.settings.comparison == "above"):
            return None
        graph.found_by_similarity += 1
        return graph.node_at(best[0])


class _Scan:
    """Similarities of vectors to all rows, in one scan for `SHARED` of them and one look at each row added since."""

    def __init__(self, index: VectorIndex, units: Sequence[Vectors | None]) -> None:
        self.index = index
        self.units = units
        self.first = 0
        self.held: Vectors = np.zeros((0, 0), np.float32)

    def from_floor(self, number: int, unit: Vectors, floor: float) -> tuple[Rows, Vectors]:
        """The rows whose similarity to a vector is at least a floor, in order, with it; numbers must not fall."""
        if number >= self.first + len(self.held):
            blank = np.zeros(self.index.dimensions, np.float32)
            some = self.units[number : number + SHARED]
            self.held = self.index.similarities(np.stack([blank if u is None else u for u in some]))
            self.first = number
        old = self.held[number - self.first]
        added = self.index.similarities(unit[None], first=len(old))[0]
        near, new = np.flatnonzero(old >= floor), np.flatnonzero(added >= floor)
        return np.concatenate([near, new + len(old)]), np.concatenate([old[near], added[new]])


def _new_node(
    graph: MemoryGraph, at: Moment, node: ExtractedNode, ordinal: int, unit: Vectors | None
) -> Node | None:
    if unit is None:
        graph.unembedded += 1
        return None
    id = node_id(graph.namespace, at.turn, ordinal)
    return graph.add_node(id, at, node, unit)


def _merge_node(graph: MemoryGraph, home: Node, node: ExtractedNode, at: Moment) -> None:
    """Content fills a gap; label, title and vector stay as they are (facts, section 6)."""
    home.content = home.content or node.content
    _merge_into(graph, home, node.attributes, at)


def _merge_edge(graph: MemoryGraph, stored: dict[str, Node], edge: ExtractedEdge, at: Moment) -> None:
    if edge.source not in stored or edge.target not in stored:
        return
    source, target = stored[edge.source].id, stored[edge.target].id
    if source == target and not graph.settings.self_loops:
        return
    home = graph.find_edge(source, edge.relationship, target)
    home = home or graph.add_edge(source, edge.relationship, target, at)
    _merge_into(graph, home, edge.attributes, at)


def _merge_into(graph: MemoryGraph, home: Node | Edge, said: dict[str, Scalar], at: Moment) -> None:
    settings = graph.settings
    new = versions(normalise_dates(said, at.time, settings.dates), at.time, at.turn)
    merge_attributes(home.attributes, new, settings.merge, keep_history=settings.keep_history)
    if home.sources[-1] != at.turn:
        home.sources.append(at.turn)
