"""Which items answer a question: the nearest, what the graph leads to from them, and the order of both.

Facts, section 5. Similarity is `memory.gaama.graph.similarity`, not the cosine.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.gaama.graph import ConceptGraph, Item, similarity
from memory.gaama.settings import GaamaSettings
from memory.models import Vectors
from memory.vectors import Doubles, Rows, VectorIndex

_NO_ROWS = np.zeros(0, np.intp)


@dataclass(frozen=True, slots=True)
class Scored:
    """An item with the score that it is ranked by."""

    item: Item
    score: float


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a question brings up.

    Attributes:
        chosen: The items that the budgets allow, best first; concepts are never among them.
        pool: How many items the search by similarity gave.
        discovered: How many of `chosen` only the graph has found.
        ppr: `(rows of vectors,)`, Personalized PageRank by row, its greatest value 1; empty in mode `semantic`.
    """

    chosen: tuple[Scored, ...]
    pool: int
    discovered: int
    ppr: Doubles


@dataclass(frozen=True, slots=True)
class Search:
    """What was found for a question before it is weighed; it does not depend on the weights.

    Attributes:
        similar: `(rows,)`, similarity to the question by row.
        pool: The nearest rows, best first.
        walked: `(rows,)`, Personalized PageRank by row, its greatest value 1; empty in mode `semantic`.
        reached: The rows that it was walked over.
    """

    similar: Doubles
    pool: Rows
    walked: Doubles
    reached: Rows


def rank(
    graph: ConceptGraph, settings: GaamaSettings, query: Vectors, others: VectorIndex | None = None
) -> Ranking:
    """Rank items for a question: `search`, then `weigh`."""
    return weigh(graph, settings, search(graph, settings, query, others))


def search(
    graph: ConceptGraph, settings: GaamaSettings, query: Vectors, others: VectorIndex | None = None
) -> Search:
    """The nearest items, and where the graph leads from them.

    Args:
        graph: The memory.
        settings: Its settings.
        query: The question's vector, of unit length.
        others: The vectors of other conversations in the same database; with `filter = "after"` they take places
            among the nearest.
    """
    kinds = _kinds(settings)
    similar = _similarities(graph, query)
    allowed = graph.rows_of(kinds)
    factor = 10 if settings.mode == "semantic" else 2
    wanted = max(factor * settings.budget, 80)
    pool = _nearest(similar, allowed, wanted, settings, query, others)
    if settings.mode == "semantic":
        return Search(similar, pool, np.zeros(0), _NO_ROWS)
    return Search(similar, pool, *_diffused(graph, settings, similar, pool))


def weigh(graph: ConceptGraph, settings: GaamaSettings, found: Search) -> Ranking:
    """The items in the order of similarity and Personalized PageRank, as the settings weigh them."""
    if settings.mode == "semantic":
        scores = found.similar[found.pool]
        return _within_budgets(graph, settings, found.pool, scores, found.pool, found.walked)
    candidates = np.union1d(found.pool, found.reached)
    sims = found.similar[candidates]
    if settings.graph_similarity == "none":
        sims = np.where(np.isin(candidates, found.pool), sims, 0.0)
    best = float(sims.max(initial=0.0)) or 1.0
    scores = settings.ppr_weight * found.walked[candidates] + settings.similarity_weight * sims / best
    return _within_budgets(graph, settings, candidates, scores, found.pool, found.walked)


def nearest(
    graph: ConceptGraph,
    settings: GaamaSettings,
    query: Vectors,
    count: int,
    others: VectorIndex | None = None,
) -> list[Scored]:
    """The items of any kind that are nearest to a unit vector, best first, each with its similarity."""
    similar = _similarities(graph, query)
    rows = _nearest(similar, np.flatnonzero(graph.vectors.live), count, settings, query, others)
    return [Scored(graph.at(int(row)), float(similar[row])) for row in rows]


def _kinds(settings: GaamaSettings) -> tuple[str, ...]:
    """The kinds that take part."""
    optional = (("concept", settings.concepts), ("reflection", settings.reflections))
    return ("episode", "fact", *(kind for kind, wanted in optional if wanted))


def _similarities(graph: ConceptGraph, query: Vectors) -> Doubles:
    """Of every row, dead ones 0; exact, so that the order of items does not depend on rounding."""
    found = similarity(graph.vectors.exact(np.arange(len(graph.vectors)), query))
    return np.where(graph.vectors.live, found, 0.0)


def _nearest(
    similar: Doubles,
    allowed: Rows,
    wanted: int,
    settings: GaamaSettings,
    query: Vectors,
    others: VectorIndex | None,
) -> Rows:
    """The `wanted` nearest rows, best first, equal ones by row.

    The code looks at twice as many rows of the whole database as it wants, at least 20, and leaves out those of other
    conversations afterwards (0.4).
    """
    order = allowed[np.argsort(-similar[allowed], kind="stable")]
    if settings.filter == "after" and others is not None:
        looked_at = max(2 * wanted, 20)
        foreign = np.sort(similarity(others.nearest(query, looked_at)[1]))
        ahead = len(foreign) - np.searchsorted(foreign, similar[order], side="right")
        order = order[ahead + np.arange(len(order)) < looked_at]
    return order[:wanted]


def _diffused(
    graph: ConceptGraph, settings: GaamaSettings, similar: Doubles, pool: Rows
) -> tuple[Doubles, Rows]:
    """PageRank from the best of the pool, by row, its greatest value 1; and the rows that it was walked over."""
    walked = np.zeros(len(graph.vectors))
    seeds = pool[: settings.seeds]
    weight = similar[seeds]
    if not weight.sum():
        return walked, _NO_ROWS
    diffusion = graph.diffusion(_kinds(settings), settings.hub_limit)
    reached = diffusion.within(seeds, settings.hops)
    start = np.zeros(len(reached))
    start[np.searchsorted(reached, seeds)] = weight
    found = diffusion.among(reached).rank(
        start, damping=settings.damping, tolerance=settings.tolerance, iterations=settings.iterations
    )
    walked[reached] = found / found.max()
    return walked, reached


def _within_budgets(
    graph: ConceptGraph, settings: GaamaSettings, rows: Rows, scores: Doubles, pool: Rows, walked: Doubles
) -> Ranking:
    """Walk the rows with a score above 0, best first, and take of each kind as many as its budget allows."""
    left = {"fact": settings.facts, "reflection": settings.reflection_items, "episode": settings.episodes}
    known = set(pool.tolist())
    chosen = []
    best = np.lexsort((rows, -scores))[: np.count_nonzero(scores > 0)]
    for row, score in zip(rows[best].tolist(), scores[best].tolist(), strict=True):
        item = graph.at(row)
        if left.get(item.kind, 0) > 0:
            left[item.kind] -= 1
            chosen.append(Scored(item, score))
    discovered = sum(found.item.row not in known for found in chosen)
    return Ranking(tuple(chosen), len(pool), discovered, walked)
