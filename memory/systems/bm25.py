"""`bm25`: lexical retrieval of turns with BM25 (bm25s), the reference that dense retrieval must beat."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

import bm25s
import numpy as np
import Stemmer
from pydantic import BaseModel

from memory.conversation import Query, Session
from memory.extraction import Extraction
from memory.forgetting.states import Mask
from memory.models import Vectors
from memory.protocol import Models, Recall
from memory.systems.keeping import RankingSettings, TurnRanker


class BM25Settings(RankingSettings):
    """Settings of lexical retrieval; k1 and b are the library's defaults, 1.5 and 0.75."""

    stem: bool = True
    """Whether words are compared by their Snowball stem."""
    stop_words: bool = True
    """Whether English stop words are left out."""


class BM25(TurnRanker[BM25Settings]):
    """The `k` turns that share the rarest words with the question; equal ones in the order of the memory."""

    Settings: ClassVar[type[BaseModel]] = BM25Settings

    def __init__(self, settings: BM25Settings, models: Models) -> None:
        super().__init__(settings, models)
        self._stemmer = Stemmer.Stemmer("english") if settings.stem else None
        self._index: bm25s.BM25 | None = None

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session."""
        super().remember(session, extractions)
        self._index = None  # its weights depend on all turns: it is made at the next recall

    def keep(self, kept: Mask) -> None:
        """Drop all turns but those of a mask."""
        super().keep(kept)
        self._index = None

    def recall(self, query: Query) -> Recall:
        """The best turns, best first."""
        return self.recall_within(query, [self.settings.max_words])[0]

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; none: as the other settings say."""
        scores = self._scores(query.text)
        order = np.argsort(-scores, kind="stable")
        ranking = list(zip(order.tolist(), scores[order].tolist(), strict=True))
        return [self.recalled(ranking, words) for words in sizes]

    def _scores(self, question: str) -> Vectors:
        """BM25 of each turn."""
        words = self._words([question])[0]
        if self._index is None:
            texts = self._words([held.text(self.settings.text) for held in self.turns])
            if not any(texts):
                return np.zeros(len(self.turns), np.float32)
            self._index = bm25s.BM25()
            self._index.index(texts, show_progress=False)
        if not words:
            return np.zeros(len(self.turns), np.float32)
        return np.asarray(self._index.get_scores(words), np.float32)

    def _words(self, texts: list[str]) -> list[list[str]]:
        words: list[list[str]] = bm25s.tokenize(
            texts,
            stopwords="en" if self.settings.stop_words else None,
            stemmer=self._stemmer,
            return_ids=False,
            show_progress=False,
        )
        return words
