"""Personalized PageRank over a sparse matrix that is kept: the engine of every system that diffuses.

The weights of a graph are gathered once into a CSR matrix; a question then costs its iterations alone. The walk follows
edges in both directions. What it cannot pass on (an item without edges, or what a limit on hubs holds back) returns to
the seeds, as `networkx.pagerank` does with dangling nodes.
"""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

Doubles = npt.NDArray[np.float64]
Rows = npt.NDArray[np.intp]


class Diffusion:
    """The weighted, undirected multigraph of `size` items, ready to be walked.

    Parallel edges add up; a self-loop counts once.
    """

    def __init__(self, weights: csr_array[np.float64], hub_limit: int | None = None) -> None:
        """Take a symmetric matrix of weights.

        Args:
            weights: `(size, size)`, symmetric, no entry negative.
            hub_limit: Neighbours from which on an item passes on only `hub_limit / neighbours` of what it has.
        """
        self._weights = weights
        self._hub_limit = hub_limit
        total = np.asarray(weights.sum(axis=1), np.float64).ravel()
        self._passed = np.where(total > 0, 1.0, 0.0)  # share of an item's mass that follows its edges
        if hub_limit is not None:
            degree = np.maximum(np.diff(weights.indptr), 1)
            self._passed *= np.minimum(1.0, hub_limit / degree)
        share = np.divide(1.0, total, out=np.zeros_like(total), where=total > 0)
        # The matrix is symmetric: dividing its columns gives, row by row, what an item receives from each other.
        self._received = csr_array(
            (weights.data * share[weights.indices], weights.indices, weights.indptr), weights.shape
        )

    @classmethod
    def of_edges(
        cls, size: int, edges: npt.NDArray[np.intp], weights: Doubles, hub_limit: int | None = None
    ) -> Self:
        """The diffusion over `edges`, `(edges, 2)` of rows, with a weight each.

        Raises:
            ValueError: If a weight is negative or not finite.
        """
        if not np.isfinite(weights).all() or (weights < 0).any():
            raise ValueError("an edge has a weight that is negative or not finite")
        source, target = edges.astype(np.int32).T  # half the bytes to read at every step
        back = source != target
        ends = (np.concatenate([source, target[back]]), np.concatenate([target, source[back]]))
        # Entries of the same place are added up.
        return cls(csr_array((np.concatenate([weights, weights[back]]), ends), shape=(size, size)), hub_limit)

    def __len__(self) -> int:
        """How many items there are."""
        return int(self._weights.shape[0])

    def within(self, start: Rows, hops: int) -> Rows:
        """The rows that can be reached from some rows in at most `hops` steps, these among them, in order."""
        reached = np.zeros(len(self), np.bool_)
        reached[start] = True
        frontier: Rows = np.unique(start)
        for _ in range(hops):
            if not len(frontier):
                break
            near = np.unique(self._weights[frontier].indices).astype(np.intp)
            frontier = near[~reached[near]]
            reached[frontier] = True
        return np.flatnonzero(reached)

    def among(self, rows: Rows) -> Diffusion:
        """The diffusion over some rows and the edges between them; its row `i` is `rows[i]`."""
        return Diffusion(self._weights[rows][:, rows], self._hub_limit)

    def neighbours(self) -> npt.NDArray[np.intp]:
        """How many distinct items each item is joined to."""
        return np.diff(self._weights.indptr).astype(np.intp)

    def rank(
        self, seeds: Doubles, *, damping: float, tolerance: float = 1e-10, iterations: int = 1_000
    ) -> Doubles:
        """Personalized PageRank.

        Args:
            seeds: `(size,)`, the weight of each item as a place to start again; they are scaled to sum to one.
            damping: Chance of following an edge rather than starting again.
            tolerance: The summed change below which it ends.
            iterations: After so many it ends in any case.

        Returns:
            `(size,)`, which sums to one; empty for no items.

        Raises:
            ValueError: If a seed is negative or not finite, or all are zero.
        """
        if not len(self):
            return np.zeros(0)
        if not np.isfinite(seeds).all() or (seeds < 0).any():
            raise ValueError("a seed is negative or not finite")
        if not seeds.sum():
            raise ValueError("no item is a seed")
        start = seeds / seeds.sum()
        rank: Doubles = start
        followed = self._passed * damping
        for _ in range(iterations):
            passed = rank * followed
            # Sums by NumPy: for a dot product BLAS wakes threads, which takes far longer than so few numbers do.
            following: Doubles = self._received @ passed + (1.0 - float(passed.sum())) * start
            moved = float(np.abs(following - rank).sum())
            rank = following
            if moved < tolerance:
                break
        return rank
