"""A memory graph with an approximate index beside one with exact scans: cost of building, adding, merging and finding
roots, and how often the approximate graph decides as the exact one.

Vectors are drawn in clusters, as descriptors are: random rows in 768 dimensions have no near neighbours. A size may be
given: `python -m tests.benchmarks.bench_ann 200000`. A million nodes are extrapolated, not measured:
exact scans linearly, and the approximate index by the logarithm, which is a lower bound (merging a turn grew by half
from 27,021 to 120,000 nodes, where the logarithm says 15 %).
"""

from __future__ import annotations

import sys
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count, islice

import numpy as np

from memory.extraction import ExtractedNode, Extraction
from memory.graph import MemoryGraph, Moment
from memory.merge import ToMerge, merge_turns
from memory.models import Vectors
from memory.profiles import GraphSettings
from memory.retrieval import find_roots
from memory.validation import QueryEntity
from tests.benchmarks import synthetic
from tests.benchmarks.timing import seconds

DIMENSIONS, PROBES, FRESH, NEIGHBOURS, NODES_A_TURN, BATCH = 768, 200, 1_000, 10, 5, 20
DEDUP, FLOOR = 0.92, 0.5
ADDED = "one vector added"
NOON = datetime(2024, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Probes:
    """What both graphs are asked: near copies of stored nodes with their labels, new rows of their clusters,
    and as many more to be merged."""

    labels: list[str]
    copies: Vectors
    new: Vectors
    fresh: Vectors


def clustered(rows: int, seed: int = 0) -> Vectors:
    """Unit rows, about thirty to a cluster, with a cosine of 0.8 to one another there."""
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(1, rows // 30), DIMENSIONS), np.float32)
    found = centres[random.integers(0, len(centres), rows)]
    found += 0.5 * random.standard_normal(found.shape, np.float32)
    found /= np.linalg.norm(found, axis=1, keepdims=True)
    return found


def near_copies(rows: Vectors) -> Vectors:
    """Unit rows with a cosine of about 0.96 to those given."""
    noise = np.random.default_rng(2).standard_normal(rows.shape, np.float32)
    moved = rows + 0.3 * noise / np.linalg.norm(noise, axis=1, keepdims=True)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


def turn(name: str, labels: list[str], vectors: Vectors) -> ToMerge:
    """A turn with a node for each vector, of titles that are nowhere else."""
    nodes = tuple(
        ExtractedNode(key=f"k{i}", label=label, title=f"{name} {i}") for i, label in enumerate(labels)
    )
    return ToMerge(Moment(name, "s", NOON), Extraction(nodes=nodes), list(vectors))


def costs(graph: MemoryGraph, probes: Probes) -> dict[str, float]:
    """Median seconds of what a memory does; the graph is not to be used after that."""
    numbers, groups = count(), iter(probes.fresh.reshape(-1, NODES_A_TURN, DIMENSIONS))

    def merge(turns: int) -> None:
        labels = probes.labels[:NODES_A_TURN]
        new = [turn(f"new {next(numbers)}", labels, group) for group in islice(groups, turns)]
        merge_turns(graph, new, DEDUP)

    def ask() -> None:
        start = next(numbers) % (PROBES - 2)
        find_roots(graph, [], probes.new[start : start + 2], FLOOR)

    return {
        "a turn of five nodes merged": seconds(lambda: merge(1), 20),
        "a turn of twenty merged together": seconds(lambda: merge(BATCH), 5) / BATCH,
        "roots of a question of two entities": seconds(ask, 20),
        # Last: a vector without a node is no whole graph.
        ADDED: seconds(lambda: graph.vectors.add(probes.new[next(numbers) % PROBES]), 100),
    }


def decisions(graph: MemoryGraph, probes: Probes) -> tuple[list[set[int]], list[set[str]], list[str]]:
    """For each probe its nearest rows, its roots, and the node that a near copy was merged into (or became)."""
    nearest = [set(graph.vectors.nearest(row, NEIGHBOURS)[0].tolist()) for row in probes.new]
    entity = [QueryEntity(label="Concept", title="nowhere")]
    roots = [{root.id for root in find_roots(graph, entity, row[None], FLOOR)} for row in probes.new]
    names = [f"copy {i}" for i in range(PROBES)]
    each = zip(names, probes.labels, probes.copies, strict=True)
    merge_turns(graph, [turn(name, [label], row[None]) for name, label, row in each], DEDUP)
    home = {source: node.id for node in graph.nodes() for source in node.sources}
    return nearest, roots, [home[name] for name in names]


def built(drawn: synthetic.States, index: str, rows: Vectors) -> MemoryGraph:
    begun = time.perf_counter()
    graph = synthetic.graph(drawn, GraphSettings.model_validate({"index": index}), rows)
    print(f"{index}: graph built in {time.perf_counter() - begun:.1f} s", flush=True)
    return graph


def shared(ours: list[set[str]] | list[set[int]], exact: list[set[str]] | list[set[int]]) -> float:
    return sum(len(a & b) for a, b in zip(ours, exact, strict=True)) / sum(map(len, exact))


def main() -> None:
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 27_021
    stored, new, fresh = np.split(clustered(size + PROBES + FRESH), [size, size + PROBES])
    drawn = synthetic.states(size, 1)
    exact, approximate = built(drawn, "exact", stored), built(drawn, "approximate", stored)
    some = np.random.default_rng(1).choice(size, PROBES, replace=False)
    probes = Probes([exact.node_at(row).label for row in some], near_copies(stored[some]), new, fresh)

    theirs, ours = decisions(exact, probes), decisions(approximate, probes)
    merged = [(a, b) for a, b, row in zip(ours[2], theirs[2], some, strict=True) if b == f"n{row}"]
    print(f"{size:,} nodes, approximate against exact:")
    print(
        f"  recall@{NEIGHBOURS} {shared(ours[0], theirs[0]):.3f}; of the roots {shared(ours[1], theirs[1]):.3f}"
    )
    print(f"  of {len(merged)} near copies that exact merges, {sum(a == b for a, b in merged)} merged alike")
    other = costs(approximate, probes)
    # The exact scan grows with the rows, the walk through neighbours with their logarithm, if rows were in the cache.
    scans, steps = 1e6 / size, np.log(1e6) / np.log(size)
    for what, one in costs(exact, probes).items():
        grown = one if what == ADDED else one * scans
        print(f"  {what}: exact {one * 1e3:.3f} ms, approximate {other[what] * 1e3:.3f} ms", end="; ")
        print(f"a million, extrapolated: {grown * 1e3:.3f} and {other[what] * steps * 1e3:.3f} ms")
    minutes = other[ADDED] * steps * 1e6 / 60
    print(f"  building a million, extrapolated: at least {minutes:.0f} minutes for the approximate index")


if __name__ == "__main__":
    main()
