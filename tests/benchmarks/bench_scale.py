"""Merging a turn against one scan of the vectors, and a scan against a read of them, at growing sizes; peak memory.

Sizes may be given: `python -m tests.benchmarks.bench_scale 27021 1000000`.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator
from itertools import islice

import numpy as np

from memory.graph import MemoryGraph, Moment
from memory.merge import ToMerge, merge_turns
from memory.profiles import GraphSettings
from tests.benchmarks import synthetic
from tests.benchmarks.timing import seconds
from tests.benchmarks.workload import NOON, new_turn

DIMENSIONS, NODES_A_TURN, BATCH, RUNS = 768, 5, 10, 9


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
    read = seconds(lambda: float(index.matrix.sum()), RUNS)
    print(
        f"  one scan of the vectors {scan * 1e3:.2f} ms: {scan / read:.2f} times one read of them from memory"
    )
    print(f"  merging a turn of five new nodes {merged * 1e3:.2f} ms: {merged / scan:.2f} times one scan")
    print(f"  its scan alone, five vectors together: {scanned / scan:.2f} times one scan")
    print(f"  each of {BATCH} turns merged together {batch * 1e3:.2f} ms: {batch / scan:.2f} times one scan")
    print(f"  its share of their scan: {shared / scan:.2f} times one scan")


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
