"""`fusion`: verbatim turns under lexical and dense search, the two rankings made one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel, Field

from memory.conversation import Session
from memory.extraction import Extraction
from memory.forgetting.states import Mask
from memory.lexical import LexicalIndex
from memory.models import Vectors
from memory.protocol import Models, Size
from memory.ranking import best_of_groups, min_max, reciprocal_ranks
from memory.systems.bm25 import LexicalSettings
from memory.systems.dense import TextVectors
from memory.systems.searching import Scores, TurnSearcher, Unit
from memory.systems.turns import stored
from memory.vectors import Doubles, Rows

Rule = Literal["minmax", "rrf"]


class FusionSettings(LexicalSettings):
    """Settings of fused retrieval."""

    holds_vectors: ClassVar[bool] = True

    rule: Rule = "minmax"
    """How the two become one: by scores, each scaled to 0..1 over the whole memory, or by reciprocal ranks (k 60)."""
    weight: float = Field(0.5, ge=0)
    """What dense search counts when lexical search counts 1."""
    lexical_unit: Unit = "session"
    """What lexical search takes as a document. A turn has the score of its session, if that is the document."""
    dense_unit: Unit = "turn"
    """Whether a turn has its own cosine, or the best of its session's turns. If both units are `session`, sessions are
    ranked, and inside a session turns by both searches of turns."""


class Fusion(TurnSearcher[FusionSettings]):
    """The turns that are best in words and in meaning together."""

    Settings: ClassVar[type[BaseModel]] = FusionSettings
    asks: ClassVar[frozenset[str]] = frozenset({"embedder"})

    def __init__(self, settings: FusionSettings, models: Models) -> None:
        super().__init__(settings, models)
        self.index = LexicalIndex(stem=settings.stem, stop_words=settings.stop_words)
        self.vectors = TextVectors(models.embedder)

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The turns, in the form that is indexed."""
        return [held.text(self.settings.text) for held in stored(session)]

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session, and index their words and vectors; one without a vector is found by words."""
        texts = self.texts(session, extractions)
        self.vectors.add(texts)
        self.index.add(texts)
        super().remember(session, extractions)

    def embedded(self) -> tuple[Sequence[int], Vectors]:
        """The turns that have a vector, by position, and their vectors."""
        return self.vectors.rows

    def keep(self, kept: Mask) -> None:
        """Drop all turns, with their vectors, but those of a mask; the index of words is made anew of the others."""
        super().keep(kept)
        self.vectors.keep(kept)
        self.index = LexicalIndex(stem=self.settings.stem, stop_words=self.settings.stop_words)
        self.index.add(held.text(self.settings.text) for held in self.turns)

    def search(self, question: str) -> Scores:
        """The fused scores of turns, and of sessions where both searches take these.

        Raises:
            CallFailed: If the question has no vector.
        """
        groups = self.sittings.of_turns
        dense = self.vectors.similarities(question)
        flags = () if self.vectors.complete else ("turns_without_vector",)
        lexical_unit, dense_unit = self.settings.lexical_unit, self.settings.dense_unit
        if lexical_unit == dense_unit:
            turns = self._fused(self._lexical(question), self._part(dense))
            if lexical_unit == "turn":
                return Scores(turns, flags=flags)
            best = self._part(best_of_groups(dense, groups))
            return Scores(turns, self._fused(self._lexical(question, groups), best), flags)
        if lexical_unit == "session":
            turns = self._fused(self._lexical(question, groups)[groups], self._part(dense))
        else:
            turns = self._fused(self._lexical(question), self._part(best_of_groups(dense, groups))[groups])
        return Scores(turns, flags=flags)

    def _lexical(self, question: str, groups: Rows | None = None) -> Doubles:
        """What lexical search counts for each turn, or for each session where their numbers are given."""
        scores = self.index.scores(question, groups)
        if (
            self.settings.rule == "rrf"
        ):  # what shares no word with the question was not found, and has no rank
            scores = np.where(scores > 0, scores, np.float32(-np.inf))
        return self._part(scores)

    def _part(self, scores: Vectors | Doubles) -> Doubles:
        """What a search's scores count before they are weighed."""
        return min_max(scores) if self.settings.rule == "minmax" else reciprocal_ranks(scores)

    def _fused(self, lexical: Doubles, dense: Doubles) -> Doubles:
        return lexical + self.settings.weight * dense

    def size(self) -> Size:
        """Turns, and the bytes of their texts, of the index and of the vectors."""
        size = super().size()
        return Size(size.items, 0, size.bytes + self.index.nbytes + self.vectors.nbytes)

    def tables(self) -> dict[str, pa.Table]:
        """The tables `turns` and `vectors`."""
        return {**super().tables(), "vectors": self.vectors.table()}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: FusionSettings, models: Models) -> Self:
        """The memory of the tables `turns` and `vectors`; the index of words is made anew."""
        system = super().from_tables(tables, settings, models)
        system.index.add(held.text(settings.text) for held in system.turns)
        system.vectors.restore(tables["vectors"], len(system.turns))
        return system
