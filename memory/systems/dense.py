"""Dense search over texts of which some may have no vector, for systems that need the score of every one."""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from memory.errors import CallFailed
from memory.forgetting.states import Mask
from memory.models import Embedder, Vectors
from memory.tables import vector_column, vectors_of
from memory.vectors import VectorIndex

_DECIMALS = 6


class TextVectors:
    """The vectors of texts, numbered in the order they are added in."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._index = VectorIndex(embedder.dimensions)
        self._rows = array("q")  # the text of each vector: a text that has no vector has no row
        self._texts = 0

    @property
    def complete(self) -> bool:
        """Whether every text has a vector."""
        return len(self._index) == self._texts

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors, and of which text each is of."""
        return self._index.matrix.nbytes + 8 * len(self._rows)

    def add(self, texts: Sequence[str]) -> None:
        """Embed texts; one that cannot be embedded is counted, but never found."""
        embedded = self._embedder.embed(texts)
        for position, vector in enumerate(embedded.vectors):
            if position not in embedded.failures:
                self._index.add(vector)
                self._rows.append(self._texts + position)
        self._texts += len(texts)

    @property
    def rows(self) -> tuple[list[int], Vectors]:
        """The texts that have a vector, by number, and their vectors."""
        return self._rows.tolist(), self._index.matrix

    def keep(self, kept: Mask) -> None:
        """Drop all texts, with their vectors, but those of a mask; the others are numbered anew."""
        place = np.cumsum(kept) - 1
        index = VectorIndex(self._index.dimensions)
        rows = array("q")
        for row, vector in zip(self._rows, self._index.matrix, strict=True):
            if kept[row]:
                index.add(vector)
                rows.append(int(place[row]))
        self._index, self._rows, self._texts = index, rows, int(kept.sum())

    def similarities(self, question: str) -> Vectors:
        """Cosine of the question with each text, -inf where a text has no vector.

        Cosines are rounded to six decimals: BLAS rounds one in the eighth according to where in a block a row stands,
        and equal texts must tie.

        Raises:
            CallFailed: If the question has no vector.
        """
        embedded = self._embedder.embed([question])
        if embedded.failures:
            raise CallFailed(f"the question could not be embedded: {embedded.failures[0]}", final=False)
        found = np.full(self._texts, -np.inf, np.float32)
        rows = np.array(self._rows, np.intp)
        found[rows] = self._index.similarities(self._index.unit(embedded.vectors[0])[None])[0].round(
            _DECIMALS
        )
        return found

    def table(self) -> pa.Table:
        """The vectors as a table of `position` and `vector`."""
        positions = pa.array(np.array(self._rows, np.int64))
        return pa.table({"position": positions, "vector": vector_column(self._index.matrix)})

    def restore(self, table: pa.Table, texts: int) -> None:
        """Take in the vectors of so many texts from their table."""
        for vector in vectors_of(table, self._index.dimensions):
            self._index.add(vector)
        self._rows = array("q", table.column("position").to_numpy().tolist())
        self._texts = texts
