"""A growing matrix of unit vectors with exact cosine search whose decisions do not depend on batch size.

BLAS rounds a dot product differently for matrices of different shapes. So where a float32 similarity lies
within `TOLERANCE` of a threshold, or of the best, it is computed again in float64 in a fixed order, row by
row, and that value decides.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np
import numpy.typing as npt

from memory.models import Vectors

TOLERANCE = 1e-5
BLOCK, BLOCK_FLOATS = 128, 128 * 768
"""Most rows, and most floats in them, that are compared with all queries before the next are read: few enough to stay
in cache, so that a scan costs little more than reading the matrix once. A product with the whole matrix takes three to
four times as long, and one of 128 rows of 1,536 floats with eight queries nine times, as it is a larger one (below)."""
TOGETHER = 8
"""Queries in one product with a block. OpenBLAS computes so small a product in one thread and without copying its
operands; it spreads a larger one over threads that wait for each other at every block."""
Kind = TypeVar("Kind", bound=np.generic)
Mask = npt.NDArray[np.bool_]
Rows = npt.NDArray[np.intp]
Doubles = npt.NDArray[np.float64]


class VectorIndex:
    """Unit vectors by row number. Rows are given out in order; removed rows stay dead until `compact`."""

    def __init__(self, dimensions: int) -> None:
        self.dimensions = dimensions
        self._matrix: Vectors = np.zeros((0, dimensions), np.float32)
        self._live: Mask = np.zeros(0, np.bool_)
        self._count = 0

    def __len__(self) -> int:
        """Rows given out, dead ones included."""
        return self._count

    @property
    def matrix(self) -> Vectors:
        """All rows, `(rows, dimensions)`, as a view."""
        return self._matrix[: self._count]

    @property
    def live(self) -> Mask:
        """Which rows are in use, as a view."""
        return self._live[: self._count]

    def unit(self, vector: npt.ArrayLike) -> Vectors:
        """A vector scaled to unit length.

        Raises:
            ValueError: If it has the wrong length, is not finite, or is zero.
        """
        wide = np.asarray(vector, np.float64)
        if wide.shape != (self.dimensions,):
            raise ValueError(f"a vector has shape {wide.shape}, not ({self.dimensions},)")
        norm = float(np.linalg.norm(wide))
        if not np.isfinite(norm):
            raise ValueError("a vector is not finite")
        if norm < 1e-12:
            raise ValueError("a vector is zero")
        # A vector that is of unit length already keeps its bits, so that storing and loading change nothing.
        scaled = wide if abs(norm - 1.0) < 1e-6 else wide / norm
        return scaled.astype(np.float32)

    def add(self, vector: npt.ArrayLike) -> int:
        """Store a vector and return its row.

        Raises:
            ValueError: As `unit`.
        """
        unit = self.unit(vector)
        if self._count == len(self._matrix):
            self._matrix = grown(self._matrix)
            self._live = grown(self._live)
        self._matrix[self._count] = unit
        self._live[self._count] = True
        self._count += 1
        return self._count - 1

    def remove(self, rows: npt.ArrayLike) -> None:
        """Take rows out of every later search."""
        self._live[: self._count][np.asarray(rows, np.intp)] = False

    def compact(self) -> Rows:
        """Close the gaps that dead rows leave, and return the old row number of each new row."""
        kept = np.flatnonzero(self.live)
        self._matrix = self._matrix[kept]
        self._live = np.ones(len(kept), np.bool_)
        self._count = len(kept)
        return kept

    def similarities(self, queries: Vectors, first: int = 0) -> Vectors:
        """Cosine of each query with each row from `first` on, `(queries, rows)`, float32; dead rows -inf."""
        rows = self.matrix[first:]
        asked = np.ascontiguousarray(queries, np.float32)
        found = np.empty((len(asked), len(rows)), np.float32)
        step = max(1, min(BLOCK, BLOCK_FLOATS // self.dimensions))
        for start in range(0, len(rows), step):
            block = rows[start : start + step].T
            for group in range(0, len(asked), TOGETHER):
                some = slice(group, group + TOGETHER)
                np.matmul(asked[some], block, out=found[some, start : start + step])
        dead = np.flatnonzero(~self.live[first:])
        found[:, dead] = -np.inf
        return found

    def candidates(self, queries: Vectors) -> tuple[Rows, Vectors]:
        """The rows that may be near to any of some queries, in order, with the best similarity of each, float32.

        Here these are all rows, dead ones with -inf.
        """
        return np.arange(len(self)), self.similarities(queries).max(axis=0)

    def exact(self, rows: npt.ArrayLike, query: Vectors) -> Doubles:
        """Cosine of a query with some rows, as `exact_cosines`."""
        return exact_cosines(self._matrix, rows, query)

    def best(self, query: Vectors, rows: Rows, similarities: Vectors) -> tuple[int, float] | None:
        """The row among some that is most similar to a query, and its exact cosine; equal ones go to the earliest.

        Args:
            query: A unit vector.
            rows: Rows that may win, in order.
            similarities: Of each of them, from `similarities`.
        """
        if not len(rows) or (top := float(similarities.max())) == -np.inf:
            return None
        near = rows[similarities >= top - 2 * TOLERANCE]
        values = self.exact(near, query)
        winner = int(np.argmax(values))
        return int(near[winner]), float(values[winner])

    def nearest(self, query: Vectors, count: int) -> tuple[Rows, Doubles]:
        """The rows most similar to a query with their exact cosines, best first, equal ones by row."""
        rough = self.similarities(query[None])[0]
        count = min(count, int(self.live.sum()))
        if not count:
            return np.zeros(0, np.intp), np.zeros(0)
        last = np.partition(rough, -count)[-count]
        near = np.flatnonzero(rough >= last - 2 * TOLERANCE)
        values = self.exact(near, query)
        order = np.argsort(-values, kind="stable")[:count]
        return near[order], values[order]

    def check(self) -> None:
        """Verify that every live vector is finite and of unit length.

        Raises:
            ValueError: If one is not.
        """
        # In blocks: a copy of all rows in float64 would take twice their memory.
        for start in range(0, self._count, BLOCK):
            block = self.matrix[start : start + BLOCK].astype(np.float64)[self.live[start : start + BLOCK]]
            norms = np.linalg.norm(block, axis=1)
            if not np.isfinite(norms).all():
                raise ValueError("a stored vector is not finite")
            if float(np.abs(norms - 1.0).max(initial=0.0)) > 1e-5:
                raise ValueError("a stored vector is not of unit length")


def exact_cosines(matrix: Vectors, rows: npt.ArrayLike, query: Vectors) -> Doubles:
    """Cosine of a unit query with some unit rows in float64; a row's value does not depend on the other rows."""
    wide = matrix[np.asarray(rows, np.intp)].astype(np.float64)
    wide *= query.astype(np.float64)
    return np.asarray(np.add.reduce(wide, axis=1), np.float64)


def reaches(value: float, threshold: float, *, strict: bool) -> bool:
    """Whether a similarity passes a threshold: `>` if strict (the paper), else `>=` (the code)."""
    return value > threshold if strict else value >= threshold


def grown(array: npt.NDArray[Kind]) -> npt.NDArray[Kind]:
    """A copy with twice the rows (at least 64), the new ones zero, so that appending is cheap on average."""
    rows = max(64, 2 * len(array))
    larger = np.zeros((rows, *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger
