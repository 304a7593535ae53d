"""`bm25`: lexical retrieval of turns, or of whole sessions, with BM25, the reference that dense retrieval must beat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Session
from memory.extraction import Extraction
from memory.forgetting.states import Mask
from memory.lexical import LexicalIndex
from memory.protocol import Models, Size
from memory.systems.keeping import RankingSettings
from memory.systems.searching import Scores, TurnSearcher, Unit


class LexicalSettings(RankingSettings):
    """Settings of every system that searches words; k1 and b are the library's defaults, 1.5 and 0.75."""

    stem: bool = True
    """Whether words are compared by their Snowball stem."""
    stop_words: bool = True
    """Whether English stop words are left out."""


class BM25Settings(LexicalSettings):
    """Settings of lexical retrieval."""

    unit: Unit = "turn"
    """What a document is. With `session`, sessions are ranked by their whole texts, and inside a session turns by their
    own BM25."""


class BM25(TurnSearcher[BM25Settings]):
    """The `k` turns that share the rarest words with the question, or those of the sessions that do."""

    Settings: ClassVar[type[BaseModel]] = BM25Settings

    def __init__(self, settings: BM25Settings, models: Models) -> None:
        super().__init__(settings, models)
        self.index = LexicalIndex(stem=settings.stem, stop_words=settings.stop_words)

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session, and index their words."""
        known = len(self.turns)
        super().remember(session, extractions)
        self.index.add(held.text(self.settings.text) for held in self.turns[known:])

    def keep(self, kept: Mask) -> None:
        """Drop all turns but those of a mask; the index is made anew of the others."""
        super().keep(kept)
        self.index = LexicalIndex(stem=self.settings.stem, stop_words=self.settings.stop_words)
        self.index.add(held.text(self.settings.text) for held in self.turns)

    def search(self, question: str) -> Scores:
        """BM25 of each turn, and of each session where these are ranked."""
        turns = self.index.scores(question)
        by_session = self.settings.unit == "session"
        return Scores(turns, self.index.scores(question, self.sittings.of_turns) if by_session else None)

    def size(self) -> Size:
        """Turns, and the bytes of their texts and of the index."""
        size = super().size()
        return Size(size.items, 0, size.bytes + self.index.nbytes)

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: BM25Settings, models: Models) -> Self:
        """The memory of a table `turns`; the index is made anew from their texts."""
        system = super().from_tables(tables, settings, models)
        system.index.add(held.text(settings.text) for held in system.turns)
        return system
