"""An approximate index over unit vectors (HNSW), behind the methods of `memory.vectors.VectorIndex` that searches need.

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


class ApproximateIndex:
    """Unit vectors by row number, searched through a graph of near neighbours.

    Rows are added one after the other by one thread: so equal rows in equal order give an equal index.

    Args:
        dimensions: Length of a vector.
        connectivity: Neighbours that a row is linked to; more finds more and takes more memory.
        breadth: Candidates kept while adding and while searching; more finds more and takes longer.

    Raises:
        BadInput: If usearch is not installed.
    """

    def __init__(self, dimensions: int, *, connectivity: int = 16, breadth: int = 128) -> None:
        try:
            from usearch.index import Index
        except ImportError as error:
            raise BadInput("an approximate index needs usearch: pip install 'palimpsest[ann]'") from error
        self.exact = VectorIndex(dimensions)
        self._breadth = breadth
        self._graph: Any = Index(
            ndim=dimensions,
            metric="ip",
            dtype="f32",
            connectivity=connectivity,
            expansion_add=breadth,
            expansion_search=breadth,
        )

    def __len__(self) -> int:
        return len(self.exact)

    def add(self, vector: npt.ArrayLike) -> int:
        """Store a vector and return its row.

        Raises:
            ValueError: As `VectorIndex.unit`.
        """
        row = self.exact.add(vector)
        self._graph.add(row, self.exact.matrix[row], threads=1, copy=True)
        return row

    def remove(self, rows: npt.ArrayLike) -> None:
        """Take rows out of every later search."""
        gone = np.asarray(rows, np.intp).reshape(-1)
        self.exact.remove(gone)
        for row in gone.tolist():
            self._graph.remove(row)

    def nearest(self, query: Vectors, count: int) -> tuple[Rows, Doubles]:
        """Rows near to a unit query with their exact cosines, best first, equal ones by row; some may be missed."""
        count = min(count, int(self.exact.live.sum()))
        if not count:
            return np.zeros(0, np.intp), np.zeros(0)
        # A search must keep at least as many candidates as it returns.
        wanted = max(count, self._breadth)
        found = self._graph.search(np.asarray(query, np.float32), wanted, threads=1).keys
        rows = np.sort(np.asarray(found).reshape(-1).astype(np.intp))
        values = self.exact.exact(rows, query)
        order = np.argsort(-values, kind="stable")[:count]
        return rows[order], values[order]
