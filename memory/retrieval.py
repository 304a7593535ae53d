"""From the entities of a question to a subgraph, and to the turns that the subgraph stands on.

Paper, section 3.5; facts, section 7.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.graph import Edge, MemoryGraph
from memory.models import Vectors
from memory.protocol import Source
from memory.validation import QueryEntity
from memory.vectors import TOLERANCE, Doubles, Rows

PERSON = "Person"
"""The label of people: the user's node is next to everything."""


@dataclass(frozen=True, slots=True)
class Root:
    """Where the search starts. The id may name a node that is gone, by a title that was left behind."""

    id: str
    score: float


@dataclass(frozen=True, slots=True)
class Found:
    """A recalled node: how many hops from its root, the root's score halved for each hop, and the node before it."""

    id: str
    depth: int
    score: float
    before: str = ""  # empty for a root


@dataclass(frozen=True, slots=True)
class Subgraph:
    """What is recalled: nodes in the order they were found, edges in the order they are shown."""

    nodes: tuple[Found, ...]
    edges: tuple[Edge, ...]


def find_roots(
    graph: MemoryGraph, entities: Sequence[QueryEntity], queries: Vectors, floor: float
) -> list[Root]:
    """The nodes to start from, best first.

    A node's score is its best cosine with any entity, or 1 if it has an entity's title. Those that reach
    the floor are ranked, title hits first among equals, then the older node; Person nodes go last if the
    settings say so. With an approximate index, only the `memory.ann.BREADTH` nodes nearest to each entity are
    looked at: Person nodes among them take the place of others that are further away.

    Args:
        graph: Is only read.
        entities: Of the question.
        queries: Unit vectors `(entities with a vector, dimensions)`.
        floor: Cosine from which a node may be a root.
    """
    settings = graph.settings
    scores = {owner: 1.0 for owner, hit in title_owners(graph, entities) if hit}
    if len(queries) and len(graph):
        rows, values = _above(graph, queries, floor)
        if not scores and not len(rows) and settings.nearest_without_roots:
            rows, values = _nearest(graph, queries, settings.roots)
        for row, value in zip(rows, values, strict=True):
            # Rounding takes equal vectors to a hair above 1: a title hit must still come first.
            scores.setdefault(graph.node_at(int(row)).id, min(float(value), 1.0))
    ranked = sorted(scores.items(), key=lambda item: -item[1])
    if settings.person_demotion:
        ranked.sort(key=lambda item: item[0] in graph and graph.node(item[0]).label == PERSON)
    return [Root(node, score) for node, score in ranked[: settings.roots]]


def expand(graph: MemoryGraph, roots: Sequence[Root], queries: Vectors) -> Subgraph:
    """Walk out from the roots, breadth first and against edges too, until `hops` or `max_nodes` is reached.

    The cap is on nodes: with `walked` edges, all edges of every node that was visited are shown, so that a
    hub's go to the hundreds (facts, section 7).
    """
    settings = graph.settings
    found = {root.id: Found(root.id, 0, root.score) for root in roots if root.id in graph}
    walked: dict[int, Edge] = {}
    waiting = deque(found.values())
    while waiting and len(found) < settings.max_nodes:
        here = waiting.popleft()
        if here.depth >= settings.hops:
            continue
        for edge in _visiting_order(graph, here.id, queries):
            walked[edge.order] = edge
            for end in (edge.source, edge.target):
                if end not in found and len(found) < settings.max_nodes:
                    found[end] = Found(end, here.depth + 1, here.score / 2, here.id)
                    waiting.append(found[end])
            if len(found) == settings.max_nodes and settings.edges != "walked":
                break  # a hub has thousands of edges more, and none of them is shown
    edges = list(walked.values()) if settings.edges == "walked" else graph.edges_between(found)
    if settings.max_edges is not None:
        scores = {node: here.score for node, here in found.items()}
        edges.sort(key=lambda edge: -scores.get(edge.source, 0.0) - scores.get(edge.target, 0.0))
        edges = edges[: settings.max_edges]
    return Subgraph(tuple(found.values()), tuple(edges))


def provenance(graph: MemoryGraph, subgraph: Subgraph) -> tuple[Source, ...]:
    """The turns that a subgraph stands on, best first.

    A node gives its score to the turns that it stands on in equal shares: a hub, which stands on all turns,
    says little of any. A turn's score is the sum of its shares; equal turns stay in conversation order.
    """
    scores: defaultdict[str, float] = defaultdict(float)
    for found in subgraph.nodes:
        sources = graph.node(found.id).sources
        for turn in sources:
            scores[turn] += found.score / len(sources)
    ranked = sorted(scores.items(), key=lambda item: (-item[1], graph.moments[item[0]].number))
    return tuple(Source(turn, score) for turn, score in ranked)


def title_owners(graph: MemoryGraph, entities: Sequence[QueryEntity]) -> list[tuple[str, bool]]:
    """The nodes that the entities' titles name, and whether each is a hit while it exists.

    A dead id is always one: the code does not look whether a node exists (facts, section 22).
    """
    settings = graph.settings
    if settings.title_shortcut == "off":
        return []
    owners = []
    same_label = settings.title_shortcut == "same_label"
    for entity in entities:
        one_key = same_label or settings.title_key == "title"
        for label in [entity.label] if one_key else sorted(graph.titles.labels):
            owner = graph.titles.find(label, entity.title)
            if owner:
                differs = same_label and owner in graph and graph.node(owner).label != entity.label
                owners.append((owner, not differs))
    return owners


def _above(graph: MemoryGraph, queries: Vectors, floor: float) -> tuple[Rows, Doubles]:
    """The rows whose best cosine reaches the floor, oldest first, with that cosine."""
    rows, rough = graph.vectors.candidates(queries)
    rows = rows[rough >= floor - TOLERANCE]
    values = _best_cosine(graph, rows, queries)
    reached = values > floor if graph.settings.comparison == "above" else values >= floor
    return rows[reached], values[reached]


def _nearest(graph: MemoryGraph, queries: Vectors, count: int) -> tuple[Rows, Doubles]:
    """The `count` rows nearest to the question and those that tie with the last of them, oldest first."""
    rows, rough = graph.vectors.candidates(queries)
    best = np.sort(rough)[-min(count, len(graph)) :]
    rows = rows[rough >= best.min(initial=np.inf) - 2 * TOLERANCE]
    return rows, _best_cosine(graph, rows, queries)


def _best_cosine(graph: MemoryGraph, rows: Rows, queries: Vectors) -> Doubles:
    best: Doubles = np.max([graph.vectors.exact(rows, query) for query in queries], axis=0)
    return best


def _visiting_order(graph: MemoryGraph, node: str, queries: Vectors) -> list[Edge]:
    """The edges of a node, in the order in which its neighbours are visited."""
    edges = graph.incident(node)
    if graph.settings.neighbours == "insertion" or not len(queries) or not edges:
        return edges
    others = [graph.node(edge.target if edge.source == node else edge.source).row for edge in edges]
    rows = np.unique(others)
    # No more than `max_nodes` neighbours can be added, and as many may be there already: of a hub's thousands,
    # only those that can come in question are compared exactly.
    needed = 2 * graph.settings.max_nodes
    if len(rows) > needed:
        rough = (graph.vectors.matrix[rows] @ queries.T).max(axis=1)
        rows = rows[rough >= np.partition(rough, -needed)[-needed] - 2 * TOLERANCE]
    cosines = dict(zip(rows.tolist(), _best_cosine(graph, rows, queries).tolist(), strict=True))
    order = sorted(range(len(edges)), key=lambda i: -cosines.get(others[i], -2.0))
    return [edges[i] for i in order]
