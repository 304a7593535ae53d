"""Who may be a root for a question: found once, whatever is forgotten later.

Forgetting a node changes nobody else's score. So the order in which `memory.retrieval.find_roots` would take roots is
the same under every mask, but for entries that drop out, and for titles: where the settings leave a forgotten node's
title behind, its id still takes a root's place (facts, section 22). Similarities are exact here also where the
settings ask for an approximate index: what it would miss depends on what was forgotten.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from memory.forgetting.ragged import Ints, Mask
from memory.graph import MemoryGraph
from memory.models import Vectors
from memory.retrieval import title_owners
from memory.validation import QueryEntity
from memory.vectors import TOLERANCE, Doubles, exact_cosines

if TYPE_CHECKING:
    from memory.forgetting.frozen import FrozenGraph

BLOCK = 256
"""Entities whose similarities to all nodes are held at a time: 38 MB at 37,000 nodes."""
GONE = -1
"""The number of a node that was gone already when the graph was frozen."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question's entities, and unit vectors `(entities with a vector, dimensions)`."""

    entities: tuple[QueryEntity, ...]
    vectors: Vectors


@dataclass(frozen=True, eq=False, slots=True)
class Candidates:
    """The possible roots of one question, best first.

    Attributes:
        first: The number of the first node of the graph that the question is asked of.
        nodes: `(entries,)`: numbers of nodes, or `GONE`. A node may stand twice: as it ranks while it is live, and
            as its title ranks once it is gone.
        scores: `(entries,)`.
        live: `(entries,)`: whether the entry counts while its node is live, or once it is gone.
        queries: The unit vectors of the question's entities.
        cosines: Of each node of the graph, its best cosine with any entity, float32; none if there are no vectors,
            or the settings never ask for it.
    """

    first: int
    nodes: Ints
    scores: Doubles
    live: Mask
    queries: Vectors
    cosines: Vectors | None

    def roots(self, frozen: FrozenGraph, live: Mask) -> list[tuple[int, float]]:
        """The live roots and their scores, best first; a title left behind may have taken a place.

        Args:
            frozen: The graph.
            live: `(nodes + 1,)`: which nodes are live; the last is `GONE`, and false.
        """
        settings = frozen.settings
        picked = np.flatnonzero(live[self.nodes] == self.live)[: settings.roots]
        if not len(picked) and settings.nearest_without_roots and self.cosines is not None:
            return self._nearest(frozen, live, self.cosines)
        return [
            (node, score)
            for node, score, counts in zip(
                self.nodes[picked].tolist(), self.scores[picked].tolist(), self.live[picked], strict=True
            )
            if counts
        ]

    def _nearest(self, frozen: FrozenGraph, live: Mask, cosines: Vectors) -> list[tuple[int, float]]:
        """The nodes nearest to the question, as `memory.retrieval` finds them where none reaches the floor."""
        settings = frozen.settings
        rows = np.flatnonzero(live[self.first : self.first + len(cosines)])
        if not len(rows):
            return []
        rough = cosines[rows]
        last = np.sort(rough)[-min(settings.roots, len(rows))]
        nodes = rows[rough >= last - 2 * TOLERANCE] + self.first
        values = np.minimum(best_cosine(frozen.vectors, nodes, self.queries), 1.0)
        demoted = frozen.person[nodes] & settings.person_demotion
        order = np.lexsort((nodes, -values, demoted))[: settings.roots]
        return list(zip(nodes[order].tolist(), values[order].tolist(), strict=True))


def candidates(
    frozen: FrozenGraph, graph: MemoryGraph, asked: Sequence[Asked], floor: float, namespace: int = 0
) -> list[Candidates]:
    """The possible roots of each question.

    Args:
        frozen: The frozen graph.
        graph: The graph that it is of, unchanged since; of several, the one that the questions are asked of.
        asked: The questions.
        floor: Cosine from which a node may be a root.
        namespace: The place of `graph` among the frozen graphs.
    """
    first, end = (int(node) for node in frozen.first_node[namespace : namespace + 2])
    matrix = frozen.vectors[first:end]
    settings = graph.settings
    keeps = settings.neighbours == "similarity" or settings.nearest_without_roots
    place = np.cumsum(graph.live) - 1 + first
    found = []
    for each, similarities in _similarities(matrix, asked):
        queries = np.ascontiguousarray(each.vectors, np.float32)
        rows, values, cosines = np.zeros(0, np.int64), np.zeros(0), None
        if len(queries) and len(matrix):
            cosines = similarities.max(axis=0)
            rows, values = _above(
                matrix, queries, similarities, cosines, floor, settings.comparison == "above"
            )
        owners = title_owners(graph, each.entities)
        titles = [(int(place[graph.node(o).row]) if o in graph else GONE, o, fits) for o, fits in owners]
        nodes, scores, live = _ranked(frozen, titles, rows + first, values)
        found.append(Candidates(first, nodes, scores, live, queries, cosines if keeps else None))
    return found


def best_cosine(matrix: Vectors, rows: Ints, queries: Vectors) -> Doubles:
    """The best exact cosine of each of some rows with any query."""
    best: Doubles = np.max([exact_cosines(matrix, rows, query) for query in queries], axis=0)
    return best


def _similarities(matrix: Vectors, asked: Sequence[Asked]) -> Iterator[tuple[Asked, Vectors]]:
    """Each question with its entities' similarities to all rows, float32, many questions in one product."""
    block: list[Asked] = []
    for position, each in enumerate(asked):
        block.append(each)
        if sum(len(held.vectors) for held in block) < BLOCK and position + 1 < len(asked):
            continue
        similarities = np.concatenate([held.vectors for held in block]) @ matrix.T
        ends = np.cumsum([len(held.vectors) for held in block])[:-1]
        yield from zip(block, np.split(similarities, ends), strict=True)
        block = []


def _above(
    matrix: Vectors, queries: Vectors, similarities: Vectors, cosines: Vectors, floor: float, strict: bool
) -> tuple[Ints, Doubles]:
    """The rows whose best cosine reaches the floor, oldest first, with that cosine, exact but at most 1."""
    rows = np.flatnonzero(cosines >= floor - TOLERANCE)
    values = np.full(len(rows), -np.inf)
    for query, rough in zip(queries, similarities, strict=True):
        # Only an entity that is near a row's best can be its best.
        near = np.flatnonzero(rough[rows] >= cosines[rows] - 2 * TOLERANCE)
        values[near] = np.maximum(values[near], exact_cosines(matrix, rows[near], query))
    reached = values > floor if strict else values >= floor
    return rows[reached], np.minimum(values[reached], 1.0)


def _ranked(
    frozen: FrozenGraph, titles: Sequence[tuple[int, str, bool]], rows: Ints, values: Doubles
) -> tuple[Ints, Doubles, Mask]:
    """Nodes, scores and states of the entries, in the order in which they become roots.

    Args:
        frozen: The graph.
        titles: Owners of the entities' titles: number, id, and whether it is a hit while it is live.
        rows: Nodes that reach the floor, oldest first.
        values: Their cosines.
    """
    settings = frozen.settings
    entries: dict[tuple[str, bool], tuple[int, bool]] = {}
    for node, owner, fits in titles:
        if node != GONE and fits:
            entries.setdefault((owner, True), (node, True))
        if not settings.clean_titles:
            entries.setdefault((owner, False), (node, False))
    titled = np.array([node for node, _ in entries.values()], np.int64)
    state = np.array([live for _, live in entries.values()], np.bool_)
    others = ~np.isin(rows, titled[state])
    nodes = np.concatenate([titled, rows[others]])
    scores = np.concatenate(
        [np.ones(len(titled)), values[others]]
    )  # equal ones stay in this order: titles first
    live = np.concatenate([state, np.ones(int(others.sum()), np.bool_)])
    demoted = live & np.append(frozen.person, False)[nodes] & settings.person_demotion
    order = np.lexsort((np.arange(len(nodes)), -scores, demoted))
    return nodes[order], scores[order], live[order]
