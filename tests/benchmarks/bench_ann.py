"""An approximate index beside the exact scan: recall@10 against exact, and the cost of adding and asking.

Rows are drawn in clusters, as descriptors are: random rows in 768 dimensions have no near neighbours. A size may be
given: `python -m tests.benchmarks.bench_ann 200000`. A million rows are extrapolated, not measured.
"""

from __future__ import annotations

import sys
import time

import numpy as np

from memory.ann import ApproximateIndex
from memory.vectors import VectorIndex
from tests.benchmarks.timing import seconds

DIMENSIONS, QUERIES, NEIGHBOURS = 768, 50, 10


def clustered(count: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    centres = random.standard_normal((max(1, count // 30), DIMENSIONS), np.float32)
    rows = centres[random.integers(0, len(centres), count)]
    rows += 0.5 * random.standard_normal(rows.shape, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 27_021
    rows = clustered(count + QUERIES)
    order = np.random.default_rng(1).permutation(len(rows))
    stored, queries = rows[order[QUERIES:]], rows[order[:QUERIES]]
    exact, approximate = VectorIndex(DIMENSIONS), ApproximateIndex(DIMENSIONS)
    for index in (exact, approximate):
        begun, part = time.perf_counter(), time.perf_counter()
        for number, row in enumerate(stored):
            if number == len(stored) - 1_000:
                part = time.perf_counter()
            index.add(row)
        took, last = time.perf_counter() - begun, time.perf_counter() - part
        print(f"{type(index).__name__}: built in {took:.1f} s; the last 1,000 rows {last:.3f} ms each")
    shared = sum(
        len(np.intersect1d(exact.nearest(q, NEIGHBOURS)[0], approximate.nearest(q, NEIGHBOURS)[0]))
        for q in queries
    )
    turns = iter(range(1_000_000))
    one = seconds(lambda: exact.nearest(queries[next(turns) % QUERIES], NEIGHBOURS), 20)
    other = seconds(lambda: approximate.nearest(queries[next(turns) % QUERIES], NEIGHBOURS), 20)
    million, steps = one * 1e6 / count, np.log(1e6) / np.log(count)
    print(f"{count:,} rows: recall@10 {shared / (QUERIES * NEIGHBOURS):.3f}")
    print(f"one query: exact {one * 1e3:.2f} ms, approximate {other * 1e3:.2f} ms")
    print(f"a million rows, extrapolated: exact {million * 1e3:.0f} ms (linear), ", end="")
    print(
        f"approximate {other * steps * 1e3:.1f} ms (logarithmic; a cache too small for the rows makes it more)"
    )


if __name__ == "__main__":
    main()
