"""What a search of the graph has done: whether its floor acted, and which of its paths run through hubs."""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

import numpy as np

from memory.graph import MemoryGraph
from memory.models import Vectors
from memory.retrieval import PERSON, Root, Subgraph

HUBS = 0.01
"""Share of the nodes, those with the most edges, that count as hubs; at least one node does."""


@dataclass(frozen=True, slots=True)
class Paths:
    """The paths from a root to a found node two hops away or more, and how many of them run through a hub."""

    all: int
    through_hubs: int


def floor_acts(graph: MemoryGraph, queries: Vectors, roots: Sequence[Root]) -> bool:
    """Whether the floor has kept out a node that would be a root without it, where the search is exact.

    Whatever reaches the floor ranks before what does not, but for Person nodes, which may go last. So the floor acts
    where places are left, or taken by Person nodes, that other nodes would have.

    Args:
        graph: Is only read.
        queries: Unit vectors of the question's entities; without any, no node is found by its vector.
        roots: What `memory.retrieval.find_roots` found with the floor.
    """
    if not len(queries):
        return False
    live = [graph.node(root.id) for root in roots if root.id in graph]
    if len(roots) < graph.settings.roots:
        return len(graph) > len(live)
    demoted = sum(node.label == PERSON for node in live) if graph.settings.person_demotion else 0
    if not demoted:
        return False
    labels = graph.columns["label"][graph.live]
    others = len(graph) - int((labels == graph.labels[PERSON]).sum())
    return others > len(live) - demoted


def hubs(graph: MemoryGraph) -> frozenset[str]:
    """The hundredth of the nodes (`HUBS`) with the most edges, of equal ones the older; at least one node."""
    rows = np.flatnonzero(graph.live)
    count = max(1, int(HUBS * len(rows)))
    order = rows[np.argsort(-graph.columns["degree"][rows], kind="stable")]
    return frozenset(graph.node_at(int(row)).id for row in order[:count])


def paths(subgraph: Subgraph, hubs: Set[str]) -> Paths:
    """The paths of a subgraph. A path runs through the nodes between its ends, which are not looked at themselves."""
    by_id = {found.id: found for found in subgraph.nodes}
    count = through = 0
    for found in subgraph.nodes:
        if found.depth < 2:
            continue
        count += 1
        inner = by_id[found.before]
        while inner.depth:
            if inner.id in hubs:
                through += 1
                break
            inner = by_id[inner.before]
    return Paths(count, through)
