"""`flat`: flat retrieval of turns by embedding, the paper's baseline (facts, section 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.forgetting.states import Mask
from memory.models import Vectors
from memory.protocol import Models, Recall, Size
from memory.systems.keeping import RankingSettings, TurnRanker
from memory.systems.turns import stored
from memory.tables import vector_column, vectors_of
from memory.vectors import VectorIndex


class FlatSettings(RankingSettings):
    """Settings of flat retrieval."""

    holds_vectors: ClassVar[bool] = True


class Flat(TurnRanker[FlatSettings]):
    """The `k` turns nearest to the question; no floor; equal ones in the order of the memory."""

    Settings: ClassVar[type[BaseModel]] = FlatSettings
    asks: ClassVar[frozenset[str]] = frozenset({"embedder"})

    def __init__(self, settings: FlatSettings, models: Models) -> None:
        super().__init__(settings, models)
        self.vectors = VectorIndex(models.embedder.dimensions)
        self.positions: list[int] = []  # of the turn of each row: a turn that has no vector has no row

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The turns, in the form that is indexed."""
        return [held.text(self.settings.text) for held in stored(session)]

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep and embed the turns of a session; one without a vector is kept, but never found.

        Raises:
            BadInput: If the memory has forgotten already.
        """
        embedded = self.models.embedder.embed(self.texts(session, extractions))
        first = len(self.turns)
        super().remember(session, extractions)
        for position, vector in enumerate(embedded.vectors):
            if position not in embedded.failures:
                self.vectors.add(vector)
                self.positions.append(first + position)

    def embedded(self) -> tuple[Sequence[int], Vectors]:
        """The turns that have a vector, by position, and their vectors."""
        return self.positions, self.vectors.matrix

    def keep(self, kept: Mask) -> None:
        """Drop all turns, with their vectors, but those of a mask."""
        place = np.cumsum(kept) - 1
        vectors = VectorIndex(self.vectors.dimensions)
        for position, vector in zip(self.positions, self.vectors.matrix, strict=True):
            if kept[position]:
                vectors.add(vector)
        self.positions = [int(place[position]) for position in self.positions if kept[position]]
        self.vectors = vectors
        super().keep(kept)

    def recall(self, query: Query) -> Recall:
        """The nearest turns, nearest first.

        Raises:
            CallFailed: If the question has no vector.
        """
        return self.recall_within(query, [self.settings.max_words])[0]

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; none: as the other settings say."""
        embedded = self.models.embedder.embed([query.text])
        if embedded.failures:
            raise CallFailed(f"the question could not be embedded: {embedded.failures[0]}", final=False)
        few = set(sizes) == {None} and self.settings.budget_tokens is None
        ranking = self._ranked(embedded.vectors[0], self.least if few else len(self.turns))
        flags = ("turns_without_vector",) if len(self.positions) < len(self.turns) else ()
        return [self.recalled(ranking, words, flags) for words in sizes]

    def _ranked(self, vector: Vectors, count: int) -> list[tuple[int, float]]:
        """Positions and cosines of the nearest turns."""
        rows, values = self.vectors.nearest(self.vectors.unit(vector), count)
        return [(self.positions[row], float(value)) for row, value in zip(rows, values, strict=True)]

    def size(self) -> Size:
        """Turns, and the bytes of their texts and vectors."""
        size = super().size()
        return Size(size.items, 0, size.bytes + self.vectors.matrix.nbytes)

    def tables(self) -> dict[str, pa.Table]:
        """The tables `turns` and `vectors`."""
        positions = pa.array(self.positions, pa.int64())
        vectors = pa.table({"position": positions, "vector": vector_column(self.vectors.matrix)})
        return {**super().tables(), "vectors": vectors}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: FlatSettings, models: Models) -> Self:
        """The memory of the tables `turns` and `vectors`."""
        system = super().from_tables(tables, settings, models)
        for vector in vectors_of(tables["vectors"], system.vectors.dimensions):
            system.vectors.add(vector)
        system.positions = [int(position) for position in tables["vectors"].column("position").to_numpy()]
        return system
