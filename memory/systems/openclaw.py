"""`openclaw`: OpenClaw's memory search, 0.7 vector and 0.3 text over chunks of transcripts, as a raw-text reference.

What is its own is in `memory.openclaw`. BM25 is Lucene's variant with SQLite's k1 and b, scaled as SQLite's: SQLite
gives a word that more than half of the chunks hold next to no weight, Lucene a little. Words are made by this project's
tokenizer, which drops single letters. A file of OpenClaw is a session here, or what of one is heard at a time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session, Turn
from memory.extraction import Extraction
from memory.lexical import LexicalIndex
from memory.openclaw.chunks import Chunk, chunked
from memory.openclaw.ranking import NO_CANDIDATE, decayed, diversified, fused
from memory.openclaw.settings import OPENCLAW_PROFILES, OpenClawSettings
from memory.packing import cost, fitted
from memory.protocol import Models, Recall, Size, Source
from memory.ranking import best_first
from memory.systems.dense import TextVectors
from memory.systems.keeping import TurnKeeper
from memory.systems.turns import RULE, stored
from memory.vectors import Doubles, Rows

K1 = 1.2
"""SQLite's."""
_COLUMNS: dict[str, pa.DataType] = {"first": pa.int64(), "last": pa.int64(), "text": pa.string()}
_CHUNKS = pa.schema(_COLUMNS)


class OpenClaw(TurnKeeper[OpenClawSettings]):
    """The `k` chunks best by cosine and BM25; a turn is ranked by its best chunk."""

    Settings: ClassVar[type[BaseModel]] = OpenClawSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = OPENCLAW_PROFILES
    asks: ClassVar[frozenset[str]] = frozenset({"embedder"})

    def __init__(self, settings: OpenClawSettings, models: Models) -> None:
        super().__init__(settings, models)
        self.chunks: list[Chunk] = []  # lines are positions of turns
        self.index = LexicalIndex(stem=settings.stem, stop_words=settings.stop_words, k1=K1)
        self.vectors = TextVectors(models.embedder)

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The chunks of a session."""
        return [chunk.text for chunk in self._chunked(session)]

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session, and index its chunks."""
        chunks = self._chunked(session)
        self.vectors.add([chunk.text for chunk in chunks])
        self.index.add(chunk.text for chunk in chunks)
        known = len(self.turns)
        self.chunks += [Chunk(chunk.text, known + chunk.first, known + chunk.last) for chunk in chunks]
        super().remember(session, extractions)

    def _chunked(self, session: Session) -> list[Chunk]:
        lines = [" ".join(held.text(self.settings.text).split()) for held in stored(session)]
        return chunked(lines, self.settings.chunk_tokens, self.settings.overlap_tokens)

    def recall(self, query: Query) -> Recall:
        """The best chunks, best first.

        Raises:
            CallFailed: If the question has no vector.
        """
        return self.recall_within(query, [self.settings.max_words])[0]

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; none shows `k` chunks."""
        if not self.chunks:
            return [Recall("", (), 0) for _ in sizes]
        scores = self._scores(query)
        order = self._order(scores)
        return [self._recalled(scores, order, words) for words in sizes]

    def _scores(self, query: Query) -> Doubles:
        """The score of each chunk, as `fused`."""
        bm25 = self.index.scores(query.text) * np.float32(K1 + 1)
        found = self.index.holders(query.text) if self.settings.match == "all" else bm25 > 0
        wanted = max(self.settings.k, self.settings.ranked)
        scores = fused(self.vectors.similarities(query.text), bm25, found, self.settings, wanted)
        if not self.settings.recency_decay:
            return scores
        times = [self.turns[chunk.first].time for chunk in self.chunks]
        return decayed(scores, times, query.date, self.settings.half_life_days)

    def _order(self, scores: Doubles) -> Rows:
        """All chunks, best first; those that are no candidates last, in the order of the memory."""
        order = best_first(scores, len(scores))
        if not self.settings.mmr:
            return order
        # Re-ranked is what OpenClaw merges for `k` results: at most the candidates of both searches.
        most = 2 * self.settings.k * self.settings.candidate_multiplier
        pool = order[:most][scores[order[:most]] > NO_CANDIDATE]
        best = diversified(scores[pool], [self.chunks[row].text for row in pool], self.settings.mmr_lambda)
        return np.concatenate([pool[best], order[len(pool) :]])

    def _recalled(self, scores: Doubles, order: Rows, words: int | None) -> Recall:
        """A ranking as a context, with its turns in the order of their chunks."""
        shown = self._shown(scores, order, words)
        least = max(self.settings.k, self.settings.ranked)
        sources: dict[int, float] = {}
        left = set(shown)
        for row in order.tolist():
            if not left and len(sources) >= least:
                break
            left.discard(row)
            for position in self._turns_in(row):
                sources.setdefault(position, float(scores[row]))
        stands_on = dict.fromkeys(position for row in shown for position in self._turns_in(row))
        return Recall(
            context=RULE.join(self._written(self.chunks[row]) for row in shown),
            provenance=tuple(
                Source(self.turns[position].turn.id, score) for position, score in sources.items()
            ),
            items=len(shown),
            shown=tuple(self.turns[position].turn.id for position in stands_on),
            flags=() if self.vectors.complete else ("chunks_without_vector",),
        )

    def _turns_in(self, row: int) -> range:
        """Positions of the turns that a chunk has a part of."""
        return range(self.chunks[row].first, self.chunks[row].last + 1)

    def _shown(self, scores: Doubles, order: Rows, words: int | None) -> list[int]:
        """The chunks that the context shows, best first: `k`, or as many as a number of words or of tokens holds."""
        least = self.settings.min_score
        rows = [row for row in order.tolist() if least is None or scores[row] >= least]
        texts = (self._written(self.chunks[row]) for row in rows)
        if words is not None:
            left = words - np.cumsum(np.fromiter((len(text.split()) for text in texts), np.int64, len(rows)))
            return rows[: int((left >= 0).sum())]
        if self.settings.budget_tokens is not None:
            costs = (cost(text, self.settings.entry_tokens) for text in texts)
            return fitted(rows, costs, self.settings.budget_tokens)
        return rows[: self.settings.k]

    def _written(self, chunk: Chunk) -> str:
        time = self.turns[chunk.first].time
        return (
            f"[{time.date().isoformat()}] {chunk.text}" if self.settings.show_dates and time else chunk.text
        )

    def standing_on(self, turn: Turn) -> list[str]:
        """The chunks that a turn is in."""
        positions = [position for position, held in enumerate(self.turns) if held.turn.id == turn.id]
        return [
            self._written(chunk)
            for chunk in self.chunks
            if any(chunk.first <= position <= chunk.last for position in positions)
        ]

    def size(self) -> Size:
        """Chunks, and the bytes of the turns, of the chunks' texts, of the index and of the vectors."""
        texts = sum(len(chunk.text.encode()) for chunk in self.chunks)
        size = super().size().bytes + texts + self.index.nbytes + self.vectors.nbytes
        return Size(len(self.chunks), 0, size)

    def tables(self) -> dict[str, pa.Table]:
        """The tables `turns`, `chunks` and `vectors`."""
        rows = [{"first": chunk.first, "last": chunk.last, "text": chunk.text} for chunk in self.chunks]
        chunks = pa.Table.from_pylist(rows, schema=_CHUNKS)
        return {**super().tables(), "chunks": chunks, "vectors": self.vectors.table()}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: OpenClawSettings, models: Models) -> Self:
        """The memory of its three tables; the index of words is made anew."""
        system = super().from_tables(tables, settings, models)
        system.chunks = [
            Chunk(row["text"], row["first"], row["last"]) for row in tables["chunks"].to_pylist()
        ]
        system.index.add(chunk.text for chunk in system.chunks)
        system.vectors.restore(tables["vectors"], len(system.chunks))
        return system
