"""The scan over all vectors and the merge of a turn, at the paper's graph: 27,021 nodes of 768 floats.

The reference is the published code's way: each stored list becomes an array, one cosine after the other.
"""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np

from memory.extraction import ExtractedEdge, ExtractedNode, Extraction
from memory.graph import MemoryGraph, Moment
from memory.merge import merge_turn
from memory.profiles import GraphSettings
from memory.vectors import VectorIndex
from tests.benchmarks.timing import seconds, show

NODES, DIMENSIONS = 27_021, 768


def main() -> None:
    random = np.random.default_rng(0)
    rows = random.normal(size=(NODES, DIMENSIONS)).astype(np.float32)
    query = random.normal(size=DIMENSIONS).astype(np.float32)
    index = VectorIndex(DIMENSIONS)
    for row in rows:
        index.add(row)
    stored = rows[:2_000].tolist()

    def published() -> float:
        return max(
            float(np.dot(np.array(row), query) / (np.linalg.norm(np.array(row)) * np.linalg.norm(query)))
            for row in stored
        )

    unit = index.unit(query)
    ours = seconds(lambda: index.nearest(unit, 1))
    show("one scan", ours, "a loop over lists", seconds(published, 3) * NODES / len(stored))
    read = seconds(lambda: float(index.matrix.sum()))
    print(f"one scan against one read of the matrix from memory: {ours / read:.1f} times its time")

    graph = MemoryGraph(DIMENSIONS, GraphSettings())
    noon = datetime(2024, 1, 1, 12, tzinfo=UTC)
    for number, row in enumerate(rows):
        node = ExtractedNode(key="a", label="Concept", title=f"thing {number}")
        merge_turn(graph, Moment(f"h#0.{number}", "s", noon), Extraction(nodes=(node,)), [row], 1.0)
    turn = Extraction(
        nodes=tuple(ExtractedNode(key=str(i), label="Concept", title=f"new {i}") for i in range(5)),
        edges=tuple(ExtractedEdge(source="0", target=str(i), relationship="goes with") for i in range(1, 5)),
    )
    vectors = list(random.normal(size=(5, DIMENSIONS)).astype(np.float32))
    numbers = iter(range(1_000_000))

    def merge() -> None:
        number = next(numbers)
        named = turn.model_copy(
            update={"nodes": tuple(n.model_copy(update={"title": f"{n.title}/{number}"}) for n in turn.nodes)}
        )
        merge_turn(graph, Moment(f"m#0.{number}", "s", noon), named, vectors, 0.92)

    show("merging a turn of five new nodes", seconds(merge), "five scans one by one", 5 * ours)


if __name__ == "__main__":
    main()
