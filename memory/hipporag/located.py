"""Vectors of some members of a list: a text that could not be embedded has none."""

from __future__ import annotations

from typing import Self

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from memory.models import Embedded, Vectors
from memory.tables import vector_column, vectors_of
from memory.vectors import Doubles, VectorIndex

Places = npt.NDArray[np.intp]


class LocatedVectors:
    """A vector index whose rows know their place in the list that they are of."""

    def __init__(self, dimensions: int) -> None:
        self.index = VectorIndex(dimensions)
        self._places: list[int] = []
        self._array: Places | None = None

    def __len__(self) -> int:
        return len(self._places)

    @property
    def places(self) -> Places:
        """The place of each row, in order."""
        if self._array is None:
            self._array = np.array(self._places, np.intp)
        return self._array

    def extend(self, first: int, embedded: Embedded, rows: range) -> None:
        """Store some rows of what was embedded, for the places from `first` on; failures are left out."""
        for place, row in enumerate(rows, first):
            if row not in embedded.failures:
                self.index.add(embedded.vectors[row])
                self._places.append(place)
        self._array = None

    def cosines(self, query: Vectors) -> Doubles:
        """The cosine of a unit vector with each row, in order."""
        found: Doubles = self.index.similarities(query[None])[0].astype(np.float64)
        return found

    def table(self) -> pa.Table:
        """The columns `position` and `vector`."""
        positions = pa.array(self._places, pa.int64())
        return pa.table({"position": positions, "vector": vector_column(self.index.matrix)})

    @classmethod
    def from_table(cls, table: pa.Table, dimensions: int, size: int) -> Self:
        """The vectors of a table, of members of a list of that size.

        Raises:
            ValueError: If a vector is not finite, zero, or of another length, or its place is not in the list.
        """
        located = cls(dimensions)
        for vector in vectors_of(table, dimensions):
            located.index.add(vector)
        located._places = [int(place) for place in table.column("position").to_numpy()]
        check_places(located.places, size)
        return located


def check_places(places: Places, size: int) -> None:
    """Verify that places are in a list of that size.

    Raises:
        ValueError: If one is not.
    """
    if ((places < 0) | (places >= size)).any():
        raise ValueError(f"a place is not among the {size} that there are")
