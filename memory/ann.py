"""An approximate index over unit vectors (HNSW) in the place of `memory.vectors.VectorIndex`.

What it finds is compared again exactly, so a cosine that it returns is right; a near row that it misses is missed.
Needs the extra `ann` (usearch), which is imported when the first index is made.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from memory.errors import BadInput
from memory.models import Vectors
from memory.vectors import Doubles, Rows, VectorIndex

BREADTH = 128
"""Candidates kept while adding and while searching, and so how many rows a search of the graph looks at for each
query; more finds more and takes longer."""


class ApproximateIndex(VectorIndex):
    """Unit vectors by row number, searched through a graph of near neighbours.

    Rows are added one after the other by one thread: so equal rows added and removed in equal order give an equal
    index. Rows are kept twice, here and in the graph of neighbours.

    Args:
        dimensions: Length of a vector.
        connectivity: Neighbours that a row is linked to; more finds more and takes more memory.
        breadth: As `BREADTH`.

    Raises:
        BadInput: If usearch is not installed.
    """

    def __init__(self, dimensions: int, *, connectivity: int = 16, breadth: int = BREADTH) -> None:
        super().__init__(dimensions)
        self._connectivity = connectivity
        self._breadth = breadth
        self._neighbours = self._linked()

    def add(self, vector: npt.ArrayLike) -> int:
        """Store a vector and return its row.

        Raises:
            ValueError: As `VectorIndex.unit`.
        """
        row = super().add(vector)
        self._neighbours.add(row, self.matrix[row], threads=1, copy=True)
        return row

    def remove(self, rows: npt.ArrayLike) -> None:
        """Take rows out of every later search."""
        gone = np.asarray(rows, np.intp).reshape(-1)
        super().remove(gone)
        for row in gone.tolist():
            self._neighbours.remove(row)

    def compact(self) -> Rows:
        """Close the gaps as `VectorIndex.compact`, and link all rows anew: the index is that of the live rows alone."""
        kept = super().compact()
        self._neighbours = self._linked()
        return kept

    def candidates(self, queries: Vectors) -> tuple[Rows, Vectors]:
        """The `breadth` rows nearest to each query, as `VectorIndex.candidates`; some may be missed."""
        rows = self._near(queries, self._breadth)
        best: Vectors = (self.matrix[rows] @ np.asarray(queries, np.float32).T).max(axis=1)
        return rows, best

    def nearest(self, query: Vectors, count: int) -> tuple[Rows, Doubles]:
        """Rows near to a unit query with their exact cosines, best first, equal ones by row; some may be missed."""
        # A search must keep at least as many candidates as it returns.
        rows = self._near(query[None], max(count, self._breadth))
        values = self.exact(rows, query)
        order = np.argsort(-values, kind="stable")[:count]
        return rows[order], values[order]

    def _near(self, queries: Vectors, count: int) -> Rows:
        """Live rows near to any of some queries, in order."""
        if not self.live.any():
            return np.zeros(0, np.intp)
        asked = np.asarray(queries, np.float32)
        found = [self._neighbours.search(query, count, threads=1).keys for query in asked]
        return np.unique(np.concatenate(found)).astype(np.intp)

    def _linked(self) -> Any:
        """A graph of neighbours of the rows that there are."""
        try:
            from usearch.index import Index
        except ImportError as error:
            raise BadInput("an approximate index needs usearch: pip install 'palimpsest[ann]'") from error
        made: Any = Index(
            ndim=self.dimensions,
            metric="ip",
            dtype="f32",
            connectivity=self._connectivity,
            expansion_add=self._breadth,
            expansion_search=self._breadth,
        )
        for row in range(len(self)):
            made.add(row, self.matrix[row], threads=1, copy=True)
        return made
