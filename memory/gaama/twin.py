"""The entity-centric twin of a graph of concepts: the same episodes and facts, joined through entities instead.

The paper says that concepts avoid the mega-hubs of entities. Only what mediates differs between the twins, so that what
diffusion gains in each can be compared.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from memory.gaama.graph import ConceptGraph, Item, text_id
from memory.models import Vectors
from memory.vectors import Doubles

Entities = Callable[[str], Sequence[str]]
"""The names of the entities that a text mentions."""


def entities_of(graph: ConceptGraph, find: Entities) -> dict[str, list[str]]:
    """For every entity, in lower case, the episodes and facts that mention it, in order."""
    mentioned: dict[str, list[str]] = {}
    for kind in ("episode", "fact"):
        for item in graph.of_kind(kind):
            for name in dict.fromkeys(name.strip().lower() for name in find(item.text)):
                if name:
                    mentioned.setdefault(name, []).append(item.id)
    return mentioned


def entity_twin(
    graph: ConceptGraph, mentioned: dict[str, list[str]], vectors: dict[str, Vectors]
) -> ConceptGraph:
    """A copy of a graph in which entities stand where its concepts stood.

    An entity is an item of the kind `concept`, joined by the same types of edge, so that all weights are equal; the
    other kinds of item and edge are those of the graph.

    Args:
        graph: Is not changed.
        mentioned: As `entities_of` gives it.
        vectors: Of each entity; one without is left out.
    """
    twin = ConceptGraph(graph.vectors.dimensions)
    for item in graph.items.values():
        if item.kind != "concept":
            twin.add(replace(item), graph.vectors.matrix[item.row])
    for source, target, data in sorted(graph.topology.edges(data=True), key=lambda edge: edge[2]["order"]):
        if source in twin and target in twin:
            twin.join(data["type"], source, target)
    for name, ids in mentioned.items():
        id = text_id(name)
        if name not in vectors or id in twin:
            continue
        twin.add(Item(id, -1, "concept", name, None), vectors[name])
        for mention in ids:
            episode = twin.items[mention].kind == "episode"
            twin.join("HAS_CONCEPT" if episode else "ABOUT_CONCEPT", mention, id)
    return twin


@dataclass(frozen=True, slots=True)
class Hubs:
    """How far a graph is a graph of hubs.

    Attributes:
        items: How many there are.
        mediators: How many of them are concepts, or entities.
        degree_median: Neighbours of a mediator, the median.
        degree_p99: The 99th percentile.
        degree_max: The most.
        top_share: Of all ends of edges, the share at the 1 % of items with the most neighbours, at least one item.
    """

    items: int
    mediators: int
    degree_median: float
    degree_p99: float
    degree_max: int
    top_share: float


def hubs(graph: ConceptGraph) -> Hubs:
    """Measure a graph's hubs over all its items and edges."""
    degrees = graph.diffusion(("episode", "fact", "concept", "reflection"), None).neighbours()
    of_mediators = degrees[graph.rows_of(["concept"])]
    if not len(of_mediators):
        of_mediators = np.zeros(1, np.intp)
    top = np.sort(degrees)[::-1][: top_count(len(graph))]
    return Hubs(
        len(graph),
        len(graph.rows_of(["concept"])),
        float(np.median(of_mediators)),
        float(np.percentile(of_mediators, 99)),
        int(of_mediators.max()),
        float(top.sum() / max(degrees.sum(), 1)),
    )


def top_count(items: int) -> int:
    """How many items the top 1 % are: at least one."""
    return max(1, items // 100)


def mass_on_hubs(graph: ConceptGraph, ppr: Doubles) -> float:
    """The share of Personalized PageRank on the 1 % of items with the most neighbours; 0 where none was walked."""
    degrees = graph.diffusion(("episode", "fact", "concept", "reflection"), None).neighbours()
    top = np.argsort(-degrees, kind="stable")[: top_count(len(graph))]
    total = float(ppr.sum())
    return float(ppr[top].sum()) / total if total else 0.0
