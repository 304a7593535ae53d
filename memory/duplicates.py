"""What merging has left twice: pairs of nodes as near to each other as those that it takes for one."""

from __future__ import annotations

import numpy as np

from memory.graph import MemoryGraph
from memory.vectors import TOLERANCE, reaches

_ROWS = 256  # of the upper triangle at a time: with a million nodes they take 1 GB


def near_duplicates(graph: MemoryGraph, dedup: float) -> list[tuple[str, str]]:
    """Pairs of nodes that a merge would have taken for one, the older first, oldest pairs first.

    They come to be where a node's best match was another, or where nodes of one turn are not compared
    (`dedup_within_turn`). As in merging, only nodes of one label are compared if `dedup_within_label` says so.

    Args:
        graph: Is only read.
        dedup: Cosine from which two descriptors are one entity.
    """
    strict = graph.settings.comparison == "above"
    labels = graph.columns["label"]
    pairs = []
    for first in range(0, len(graph.vectors), _ROWS):
        rows = np.arange(first, min(first + _ROWS, len(graph.vectors)))
        found = graph.vectors.similarities(graph.vectors.matrix[rows], first=first)
        near = (found >= dedup - TOLERANCE) & graph.live[rows][:, None]
        if graph.settings.dedup_within_label:
            near &= labels[rows][:, None] == labels[first:]
        for a, b in zip(*np.nonzero(np.triu(near, 1)), strict=True):
            exact = graph.vectors.exact([first + b], graph.vectors.matrix[first + a])[0]
            if reaches(float(exact), dedup, strict=strict):
                pairs.append((graph.node_at(int(first + a)).id, graph.node_at(int(first + b)).id))
    return pairs
