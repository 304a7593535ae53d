"""Whether the memory graph, under the profile `published`, holds and recalls what the published algorithm does."""

from __future__ import annotations

from typing import Any

import numpy as np

from memory.graph import MemoryGraph
from memory.merge import merge_turn
from memory.profiles import GRAPH_PROFILES, GraphSettings
from memory.retrieval import expand, find_roots
from memory.serialise import serialise
from tests.benchmarks.published_in_python import DEDUP, FLOOR, PublishedMemory, copy_of
from tests.benchmarks.workload import NOON, Asked, conversation, questions

PUBLISHED = GraphSettings(**GRAPH_PROFILES["published"])


def differences(graph: MemoryGraph, turns: int, asked: int) -> list[str]:
    """What differs after turns were merged into a graph and into its copy, and after each of some questions.

    Nodes and edges are compared in the order they were stored, with all that they hold; roots with their scores to
    within 1e-6 (the core takes vectors of float32 for unit ones, the copy divides by their lengths); subgraphs in the
    order they were walked; contexts to the letter. Empty where nothing differs.
    """
    random = np.random.default_rng(5)
    copy = copy_of(graph)
    for said in conversation(random, graph, turns):
        merge_turn(graph, said.at, said.extraction, list(said.vectors), DEDUP)
        copy.merge(said.at.session, said.at.time, said.extraction, list(said.vectors))
    found = _unequal("merging", contents(copy_of(graph)), contents(copy))
    for number, question in enumerate(questions(random, graph, asked)):
        found += _unequal(f"question {number}", recalled(graph, question), recalled_by_copy(copy, question))
    return found + _unequal("recall", contents(copy_of(graph)), contents(copy))


def contents(memory: PublishedMemory) -> dict[str, Any]:
    """What a memory holds, nodes by their place, because two memories give a new node two ids."""
    place = {id: number for number, id in enumerate(memory.nodes)}
    return {
        "nodes": [{**node, "id": place[id]} for id, node in memory.nodes.items()],
        "edges": [
            {**edge, "id": number, "source": place[edge["source"]], "target": place[edge["target"]]}
            for number, edge in enumerate(memory.edges.values())
        ],
        "vectors": np.array(list(memory.vector_index.values()), np.float32).tobytes(),
        "titles": {title: place[id] for title, id in memory.title_index.items()},
        "turns": memory.turns,
    }


def recalled(graph: MemoryGraph, question: Asked) -> dict[str, Any]:
    """What the graph recalls of a question; it counts as accessed."""
    roots = find_roots(graph, question.entities, question.vectors, FLOOR)
    found = expand(graph, roots, question.vectors)
    graph.touch([node.id for node in found.nodes], NOON)
    return {
        "roots": [graph.node(root.id).row for root in roots],
        "scores": [root.score for root in roots],
        "nodes": [graph.node(node.id).row for node in found.nodes],
        "edges": [edge.order for edge in found.edges],
        "context": serialise(graph, found),
    }


def recalled_by_copy(copy: PublishedMemory, question: Asked) -> dict[str, Any]:
    """What the published algorithm recalls of it."""
    roots = copy.roots(question.entities, list(question.vectors.astype(float)))
    nodes, edges = copy.walk(roots)
    copy.touch_recalled(nodes, NOON)
    place, order = ({id: number for number, id in enumerate(ids)} for ids in (copy.nodes, copy.edges))
    return {
        "roots": [place[id] for id, _ in roots],
        "scores": [score for _, score in roots],
        "nodes": [place[id] for id in nodes],
        "edges": [order[id] for id in edges],
        "context": copy.context(nodes, edges),
    }


def _unequal(when: str, ours: dict[str, Any], theirs: dict[str, Any]) -> list[str]:
    return [f"{what} after {when}" for what in ours if not _same(what, ours[what], theirs[what])]


def _same(what: str, ours: Any, theirs: Any) -> bool:
    if what == "scores":
        return len(ours) == len(theirs) and np.allclose(ours, theirs, rtol=0, atol=1e-6)
    return bool(ours == theirs)
