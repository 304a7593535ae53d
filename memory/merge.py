"""Merging what was extracted from a turn into the graph: two-step de-duplication, then nodes, then edges.

Paper, section 3.4; facts, section 6.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.attributes import merge_attributes, versions
from memory.dates import normalise_dates
from memory.extraction import ExtractedEdge, ExtractedNode, Extraction, Scalar
from memory.graph import Edge, MemoryGraph, Moment, Node, in_utc, node_id
from memory.models import Vectors
from memory.vectors import reaches

USER_CONTENT = "the user whose conversations are remembered"
"""The user node always has this content, so that its descriptor is the same in every turn (facts, section
3)."""


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


def merge_turn(
    graph: MemoryGraph, at: Moment, extraction: Extraction, vectors: Sequence[Vectors | None], dedup: float
) -> None:
    """Merge one turn. A turn that was merged before changes nothing, so that a memory can be fed again.

    Args:
        graph: Is changed.
        at: The turn; its number is given here.
        extraction: What was extracted from it; empty for a turn that could not be extracted.
        vectors: One for the descriptor of each of `prepared(extraction)`. A node without one is stored only
            as part of a node of its title.
        dedup: Cosine from which two descriptors are one entity.

    Raises:
        ValueError: If a vector is refused; the graph is unchanged.
    """
    if at.turn in graph.moments:
        return
    at = Moment(at.turn, at.session, in_utc(at.time), graph.turns)
    nodes = prepared(extraction)
    units = [None if vector is None else graph.vectors.unit(vector) for vector in vectors]
    matcher = _Matcher(graph, nodes, units, dedup)
    before = [] if graph.settings.dedup_within_turn else [matcher.find(i) for i in range(len(nodes))]
    known = len(graph.vectors)
    stored: dict[str, Node] = {}
    seen_again: dict[str, None] = {}
    for i, node in enumerate(nodes):
        found = before[i] if before else matcher.find(i)
        if found and found.row < known:
            seen_again[found.id] = None
        home = found or _new_node(graph, at, node, i, units[i])
        if home:
            _merge_node(graph, home, node, at)
            stored[node.key] = home
    graph.touch(seen_again, at.time)
    for edge in extraction.edges:
        _merge_edge(graph, stored, edge, at)
    graph.moments[at.turn] = at


@dataclass
class _Matcher:
    """Finds the stored node that an extracted one is, with one scan for the whole turn."""

    graph: MemoryGraph
    nodes: Sequence[ExtractedNode]
    units: Sequence[Vectors | None]
    dedup: float

    def __post_init__(self) -> None:
        index = self.graph.vectors
        blank = np.zeros(index.dimensions, np.float32)
        queries = np.stack([blank if unit is None else unit for unit in self.units] or [blank])
        self.scan = index.similarities(queries)

    def find(self, i: int) -> Node | None:
        """By title within the label, else the most similar node, if it is similar enough."""
        graph, node, unit = self.graph, self.nodes[i], self.units[i]
        owner = graph.titles.find(node.label, node.title)
        if owner and owner in graph and graph.node(owner).label == node.label:
            return graph.node(owner)
        if unit is None:
            return None
        scanned = self.scan.shape[1]
        added = graph.vectors.similarities(unit[None], first=scanned)[0]
        scores = np.concatenate([self.scan[i], added]) if len(added) else self.scan[i]
        allowed = None
        if graph.settings.dedup_within_label:
            allowed = graph.columns["label"] == graph.labels.get(node.label, -1)
        best = graph.vectors.best(unit, scores, allowed)
        strict = graph.settings.comparison == "above"
        return graph.node_at(best[0]) if best and reaches(best[1], self.dedup, strict=strict) else None


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
