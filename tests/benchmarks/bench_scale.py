"""Merging a turn against one scan of the vectors; walking two hops and touching, at growing sizes; peak memory.

Sizes may be given: `python -m tests.benchmarks.bench_scale 27021 1000000`.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice

import numpy as np

from memory.extraction import ExtractedEdge, ExtractedNode, Extraction
from memory.graph import MemoryGraph, Moment
from memory.merge import ToMerge, merge_turns
from memory.profiles import GraphSettings
from memory.retrieval import Root, expand
from tests.benchmarks import synthetic
from tests.benchmarks.timing import seconds

DIMENSIONS, NODES_A_TURN, BATCH, RUNS = 768, 5, 10, 9
NOON = datetime(2024, 2, 1, 12, tzinfo=UTC)


def new_turn(number: int) -> Extraction:
    """Five new nodes, the first joined to the others; about two and a half nodes a turn are what a run has."""
    nodes = [
        ExtractedNode(key=str(i), label="Concept", title=f"fresh {number} {i}") for i in range(NODES_A_TURN)
    ]
    edges = [
        ExtractedEdge(source="0", target=str(i), relationship="goes with") for i in range(1, NODES_A_TURN)
    ]
    return Extraction(nodes=tuple(nodes), edges=tuple(edges))


def measure(graph: MemoryGraph, random: np.random.Generator, numbers: Iterator[int]) -> None:
    def units(count: int) -> np.ndarray:
        return synthetic.unit_rows(random, count, DIMENSIONS)

    def merge(turns: int) -> None:
        new = []
        for number in islice(numbers, turns):
            vectors = list(units(NODES_A_TURN))
            new.append(ToMerge(Moment(f"new#{number}", "s", NOON), new_turn(number), vectors))
        merge_turns(graph, new, 0.92)

    index = graph.vectors
    one, five, many = units(1), units(NODES_A_TURN), units(NODES_A_TURN * BATCH)
    scan = seconds(lambda: index.similarities(one), RUNS)
    merged = seconds(lambda: merge(1), RUNS)
    scanned = seconds(lambda: index.similarities(five), RUNS)
    batch = seconds(lambda: merge(BATCH), RUNS) / BATCH
    shared = seconds(lambda: index.similarities(many), RUNS) / BATCH
    print(f"  one scan of the vectors {scan * 1e3:.2f} ms")
    print(f"  merging a turn of five new nodes {merged * 1e3:.2f} ms: {merged / scan:.2f} times one scan")
    print(f"  its scan alone, five vectors together: {scanned / scan:.2f} times one scan")
    print(f"  each of {BATCH} turns merged together {batch * 1e3:.2f} ms: {batch / scan:.2f} times one scan")
    print(f"  its share of their scan: {shared / scan:.2f} times one scan")

    ids = [graph.node_at(int(row)).id for row in random.integers(0, len(index), 15)]
    roots = [Root(node, 0.8) for node in ids[:5]]
    walk = seconds(lambda: expand(graph, roots, one), 20)
    touch = seconds(lambda: graph.touch(ids, NOON), 20)
    print(f"  walking two hops from five nodes {walk * 1e3:.3f} ms; touching fifteen {touch * 1e3:.3f} ms")


def main() -> None:
    for count in [int(size) for size in sys.argv[1:]] or [27_021, 100_000]:
        begun = time.perf_counter()
        # The vectors go into the graph block by block: the benchmark holds no second copy of them.
        rows = synthetic.rows_in_blocks(np.random.default_rng(0), count, DIMENSIONS)
        graph = synthetic.graph(synthetic.states(count, 1), GraphSettings(), rows)
        print(f"{count:,} nodes, {graph.topology.number_of_edges():,} edges", end=", ")
        print(f"made in {time.perf_counter() - begun:.0f} s", flush=True)
        measure(graph, np.random.default_rng(1), iter(range(1_000_000)))
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(f"  peak memory so far {peak:.2f} GiB, the drawn columns included", flush=True)


if __name__ == "__main__":
    main()
