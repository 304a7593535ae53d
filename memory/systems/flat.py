"""`flat`: flat retrieval of turns by embedding, the paper's baseline (facts, section 11)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.models import Vectors
from memory.protocol import Models, Recall, Size, Source
from memory.systems.keeping import RANKING_PROFILES, RankingSettings, TurnKeeper
from memory.systems.turns import RULE, stored
from memory.tables import vector_column, vectors_of
from memory.vectors import VectorIndex


class FlatSettings(RankingSettings):
    """Settings of flat retrieval."""


class Flat(TurnKeeper[FlatSettings]):
    """The `k` turns nearest to the question; no floor; equal ones in the order of the memory."""

    Settings: ClassVar[type[BaseModel]] = FlatSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = RANKING_PROFILES
    asks: ClassVar[frozenset[str]] = frozenset({"embedder"})

    def __init__(self, settings: FlatSettings, models: Models) -> None:
        super().__init__(settings, models)
        self.vectors = VectorIndex(models.embedder.dimensions)
        self.positions: list[int] = []  # of the turn of each row: a turn that has no vector has no row

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The turns, in the form that is indexed."""
        return [held.text(self.settings.text) for held in stored(session)]

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep and embed the turns of a session; one without a vector is kept, but never found."""
        embedded = self.models.embedder.embed(self.texts(session, extractions))
        for position, vector in enumerate(embedded.vectors):
            if position not in embedded.failures:
                self.vectors.add(vector)
                self.positions.append(len(self.turns) + position)
        super().remember(session, extractions)

    def recall(self, query: Query) -> Recall:
        """The nearest turns, nearest first.

        Raises:
            CallFailed: If the question has no vector.
        """
        return self.recall_within(query, [self.settings.max_words])[0]

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; none shows `k` turns."""
        embedded = self.models.embedder.embed([query.text])
        if embedded.failures:
            raise CallFailed(f"the question could not be embedded: {embedded.failures[0]}", final=False)
        least = max(self.settings.k, self.settings.ranked)
        ranked = self._ranked(embedded.vectors[0], least if set(sizes) == {None} else len(self.turns))
        return [self._recalled(ranked, least, words) for words in sizes]

    def _recalled(self, ranked: Sequence[tuple[int, float]], least: int, words: int | None) -> Recall:
        """A ranking as a context, with at least so many turns in the provenance."""
        shown = self.best([position for position, _ in ranked], self.settings.k, words)
        listed = ranked[: max(least, len(shown))]
        return Recall(
            context=RULE.join(shown),
            provenance=tuple(Source(self.turns[position].turn.id, score) for position, score in listed),
            items=len(shown),
            shown=len(shown),
            flags=("turns_without_vector",) if len(self.positions) < len(self.turns) else (),
        )

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
