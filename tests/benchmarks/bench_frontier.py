"""A point of the frontier without any language model: 500 questions under one mask of a persistent graph.

The reference is the way of the memory itself: remove the nodes, then recall question after question. It is given the
copy of the graph that it would need for each point, and gives the same ranks.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Sequence
from datetime import UTC, datetime

import numpy as np

from memory.conversation import Query
from memory.extraction import ExtractedNode
from memory.forgetting.candidates import Asked, candidates
from memory.forgetting.figures import figures
from memory.forgetting.frozen import FrozenGraph
from memory.forgetting.frozen_turns import FrozenTurns
from memory.forgetting.ragged import Ragged
from memory.graph import MemoryGraph, Moment
from memory.models import Embedded
from memory.profiles import GRAPH_PROFILES, GraphSettings
from memory.protocol import Models
from memory.systems.graph import GraphMemory
from memory.validation import QueryEntity
from tests.benchmarks.timing import seconds, show

NODES, EDGES, HUB_EDGES, TURNS, DIMENSIONS = 37_000, 90_000, 9_000, 10_000, 384
QUESTIONS, ENTITIES, POINTS, COMPARED = 500, 3, 60, 20
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


class NoEmbedder:
    """Nothing is embedded here."""

    name, dimensions = "none", DIMENSIONS

    def embed(self, texts: Sequence[str]) -> Embedded:
        return Embedded(np.zeros((len(texts), DIMENSIONS), np.float32))


def synthetic(profile: str, vectors: np.ndarray, random: np.random.Generator) -> GraphMemory:
    """A graph of things around a user who is next to many of them and stands on every turn."""
    thresholds = {"dedup_threshold": 0.88, "retrieval_floor": 0.4, "touch_on_recall": False}
    settings = GraphSettings(**{**GRAPH_PROFILES[profile], **thresholds})
    memory = GraphMemory(settings, Models(None, NoEmbedder()))
    graph: MemoryGraph = memory.graph
    turns = [Moment(f"h#0.{number}", "s", NOON, number) for number in range(TURNS)]
    for number, vector in enumerate(vectors):
        node = ExtractedNode(key="a", label="Concept" if number else "Person", title=f"thing {number}")
        first = number * TURNS // NODES
        stored = graph.add_node(f"n{number}", turns[first], node, vector)
        later = random.integers(first, TURNS, random.poisson(0.5)) if number else range(TURNS)
        stored.sources = [turns[turn].turn for turn in sorted({first, *later})]
    graph.moments = {moment.turn: moment for moment in turns}
    ends = [(0, int(leaf)) for leaf in random.choice(np.arange(1, NODES), HUB_EDGES, replace=False)]
    ends += [(int(a), int(b)) for a, b in random.integers(1, NODES, (EDGES - HUB_EDGES, 2)) if a != b]
    for number, (source, target) in enumerate(ends):
        graph.add_edge(f"n{source}", f"verb {number}", f"n{target}", turns[number * TURNS // EDGES])
    return memory


def main() -> None:
    random = np.random.default_rng(0)
    centres = random.normal(size=(400, DIMENSIONS))
    rows = centres[random.integers(0, 400, NODES)] + 1.2 * random.normal(size=(NODES, DIMENSIONS))
    vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
    near = random.integers(0, NODES, (QUESTIONS, ENTITIES))
    asked = [
        Asked(tuple(QueryEntity("Concept", f"thing {node}") for node in nodes[:1]), vectors[nodes])
        for nodes in near
    ]
    evidence_ids = [[f"h#0.{turn}" for turn in random.integers(0, TURNS, 2)] for _ in asked]
    masks = [random.random(NODES) >= share for share in random.uniform(0.02, 0.9, POINTS)]
    for profile in ("published", "improved"):
        memory = synthetic(profile, vectors, random)
        bench_graph(profile, memory, asked, evidence_ids, masks)
    bench_turns(vectors[:TURNS], vectors[near[:, 0]], evidence_ids, random)


def bench_graph(
    profile: str,
    memory: GraphMemory,
    asked: list[Asked],
    evidence_ids: list[list[str]],
    masks: list[np.ndarray],
) -> None:
    """Time freezing, candidates and points, and one point against removal."""
    frozen = FrozenGraph.of(memory.graph)
    freezing = seconds(lambda: FrozenGraph.of(memory.graph), 1)
    possible = candidates(frozen, memory.graph, asked, memory.floor)
    finding = seconds(lambda: candidates(frozen, memory.graph, asked, memory.floor), 1)
    evidence = frozen.evidence(evidence_ids)

    def point(mask: np.ndarray) -> np.ndarray:
        remaining = frozen.under(mask)
        ranks = remaining.all_ranks(possible, evidence)
        figures(evidence, ranks, remaining.survives(evidence.items))
        return ranks

    whole = seconds(lambda: [point(mask) for mask in masks], 1)
    print(f"{profile}: freezing {freezing:.2f} s, candidates of {QUESTIONS} questions {finding:.2f} s")
    print(f"{profile}: {POINTS} points {whole:.2f} s, {whole / POINTS * 1e3:.0f} ms each")
    names = [node.id for node in memory.graph.nodes()]
    pruned = copy.deepcopy(memory.graph)
    begun = time.perf_counter()
    pruned.remove_nodes([name for name, lives in zip(names, masks[0], strict=True) if not lives])
    removing = time.perf_counter() - begun
    memory.graph = pruned
    found = []

    def recall() -> None:
        found[:] = [
            [
                source.turn
                for source in memory.recall_entities(
                    Query("q", "h", "?"), a.entities, [*a.vectors]
                ).provenance
            ]
            for a in asked[:COMPARED]
        ]

    theirs = removing + seconds(recall, 1) * QUESTIONS / COMPARED
    ranks = [
        turns.index(turn) + 1 if turn in turns else 0
        for turns, wanted in zip(found, evidence_ids, strict=False)
        for turn in dict.fromkeys(wanted)
    ]
    same = point(masks[0])[: len(ranks)].tolist() == ranks
    show(f"{profile}: one point", whole / POINTS, f"removal and recall (same ranks: {same})", theirs)


def bench_turns(
    vectors: np.ndarray, queries: np.ndarray, evidence_ids: list[list[str]], random: np.random.Generator
) -> None:
    """Time the same frontier over flat turns."""
    evidence = Ragged.of(
        [[int(turn.partition(".")[2]) for turn in dict.fromkeys(ids)] for ids in evidence_ids]
    )
    comparing = seconds(lambda: FrozenTurns.of(vectors, queries, evidence), 1)
    frozen = FrozenTurns.of(vectors, queries, evidence)
    masks = [random.random(TURNS) >= share for share in random.uniform(0.02, 0.9, POINTS)]
    whole = seconds(lambda: [figures(evidence, frozen.ranks(m), frozen.survives(m)) for m in masks], 1)
    print(
        f"flat turns: comparing {comparing:.2f} s; {POINTS} points {whole:.2f} s; {len(frozen.ahead.items):,} ahead"
    )


if __name__ == "__main__":
    main()
