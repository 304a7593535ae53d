"""`hipporag`: HippoRAG 2, Personalized PageRank over phrases and passages (facts on GAAMA, section 14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session
from memory.diffusion import Diffusion
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.hipporag import tables as stored_graph
from memory.hipporag.graph import PhraseGraph
from memory.hipporag.located import Places
from memory.hipporag.seeding import min_max, passage_seeds, phrase_seeds
from memory.hipporag.settings import HIPPORAG_PROFILES, HippoRAGSettings
from memory.hipporag.triples import Triple, triples_of
from memory.models import ChatRequest, Vectors
from memory.prompts import fact_filter
from memory.protocol import Models, Recall, Size
from memory.systems.keeping import TurnRanker
from memory.systems.turns import stored
from memory.vectors import Doubles

_NOTHING = Extraction()


@dataclass(frozen=True, slots=True)
class _Walked:
    """What a question needs of the graph, made once after the memory has changed."""

    diffusion: Diffusion
    facts: list[Triple]
    ends: Places
    passages_of: Doubles


@dataclass(frozen=True, slots=True)
class _Ranking:
    """Positions of turns, best first, with a score each, and flags."""

    turns: Places
    scores: Doubles
    flags: tuple[str, ...]


class HippoRAG(TurnRanker[HippoRAGSettings]):
    """The turns that a question's facts lead to, by way of phrases that they share and of synonyms.

    The triples are the edges of the project's shared extraction (see `memory.hipporag.triples`). A question costs one
    call, which filters the facts nearest to it, or none with the filter `similarity`.
    """

    Settings: ClassVar[type[BaseModel]] = HippoRAGSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = HIPPORAG_PROFILES
    needs_extractions: ClassVar[bool] = True
    asks: ClassVar[frozenset[str]] = frozenset({"chat", "embedder"})
    prompts: ClassVar[tuple[ChatRequest, ...]] = (fact_filter.request("?", ()),)

    def __init__(self, settings: HippoRAGSettings, models: Models) -> None:
        super().__init__(settings, models)
        self.graph = PhraseGraph(models.embedder.dimensions, settings)
        self._walked: _Walked | None = None

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The turns, in the form that is indexed, and what is new of their phrases and facts."""
        triples = [triple for turn in session.turns for triple in _triples(turn.id, extractions)]
        phrases, facts = self.graph.unknown(triples)
        turns = [held.text(self.settings.text) for held in stored(session)]
        return [*turns, *phrases, *map(" ".join, facts)]

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep a session's turns, and join the phrases of their triples.

        Raises:
            CallFailed: If a fault of transport keeps a vector back; the memory is unchanged.
            CallRefused: If no further call may be made; the memory is unchanged.
        """
        embedded = self.models.embedder.embed(self.texts(session, extractions))
        self.graph.add([_triples(turn.id, extractions) for turn in session.turns], embedded)
        self._walked = None
        super().remember(session, extractions)

    def recall(self, query: Query) -> Recall:
        """The turns that rank highest.

        Flags: `dense_fallback` where no fact survives the filter, so that turns rank by similarity alone;
        `filter_failed` where that is for want of a usable reply; `turns_without_vector`.

        Raises:
            CallFailed: If the question has no vector, or a fault of transport keeps the filter's reply back.
            CallRefused: If no further call may be made.
        """
        return self.recall_within(query, [self.settings.max_words])[0]

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; none: as the other settings say."""
        embedded = self.models.embedder.embed([query.text])
        if embedded.failures:
            raise CallFailed(f"the question could not be embedded: {embedded.failures[0]}", final=False)
        ranking = self._ranked(query.text, self.graph.passage_vectors.index.unit(embedded.vectors[0]))
        best = list(zip(ranking.turns.tolist(), ranking.scores.tolist(), strict=True))
        return [self.recalled(best, words, ranking.flags) for words in sizes]

    def _ranked(self, question: str, vector: Vectors) -> _Ranking:
        """All turns by their Personalized PageRank; by similarity where no fact serves the question."""
        passages = self.graph.passage_vectors
        flags = ["turns_without_vector"] * (len(passages) < len(self.turns))
        kept, failed = self._kept_facts(question, vector)
        flags += ["filter_failed"] * failed
        seeds = self._seeds(kept, vector) if kept else np.zeros(0)
        if not seeds.any():
            rows, values = passages.index.nearest(vector, len(passages))
            return _Ranking(passages.places[rows], values, (*flags, "dense_fallback"))
        rank = self._walk().diffusion.rank(seeds, damping=self.settings.damping)
        scores = rank[: len(self.turns)]
        order = np.argsort(-scores, kind="stable")
        return _Ranking(order, scores[order], tuple(flags))

    def _seeds(self, kept: Mapping[int, float], vector: Vectors) -> Doubles:
        """What each passage and each phrase weighs as a seed, by the facts that are kept and the question's vector."""
        walked = self._walk()
        facts = [(walked.ends[fact], score) for fact, score in kept.items()]
        phrases = phrase_seeds(facts, walked.passages_of, self.settings.phrases)
        found = self.graph.passage_vectors
        weight = self.settings.passage_weight
        passages = passage_seeds(found.cosines(vector), found.places, len(self.turns), weight)
        return np.concatenate([passages, phrases])

    def _kept_facts(self, question: str, vector: Vectors) -> tuple[dict[int, float], bool]:
        """The facts that serve a question, each with its normalised score, and whether the filter has failed."""
        found = self.graph.fact_vectors
        rows, cosines = found.index.nearest(vector, self.settings.facts)
        if not len(rows):
            return {}, False
        scores = min_max(found.cosines(vector))[rows]
        places = found.places[rows].tolist()
        near = dict(zip(places, scores.tolist(), strict=True))
        if self.settings.filter == "similarity":
            floor = self.settings.fact_floor
            return {p: near[p] for p, cosine in zip(places, cosines, strict=True) if cosine >= floor}, False
        facts = [self._walk().facts[place] for place in places]
        try:
            ids = self.models.chat.ask(fact_filter.request(question, facts), fact_filter.read).value
        except CallFailed as failure:
            if not failure.final:
                raise
            return {}, True
        by_id = dict(zip(fact_filter.ids_of(facts), places, strict=True))
        return {by_id[id]: near[by_id[id]] for id in ids if id in by_id}, False

    def _walk(self) -> _Walked:
        if self._walked is None:
            contained = self.graph.contained()
            self._walked = _Walked(
                diffusion=self.graph.diffusion(contained),
                facts=list(self.graph.facts),
                ends=self.graph.ends(),
                passages_of=np.asarray(contained.sum(axis=0), np.float64).ravel(),
            )
        return self._walked

    def size(self) -> Size:
        """Turns and phrases, edges between them, and the bytes of the tables."""
        edges = self.graph.contained().nnz + self.graph.between_phrases().nnz // 2
        nbytes = sum(table.nbytes for table in self.tables().values())
        return Size(len(self.turns) + len(self.graph.phrases), edges, nbytes)

    def tables(self) -> dict[str, pa.Table]:
        """The table `turns`, and those of the graph."""
        return {**super().tables(), **stored_graph.to_tables(self.graph)}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: HippoRAGSettings, models: Models) -> Self:
        """The memory of its tables.

        Raises:
            BadInput: If they do not fit one another.
        """
        system = super().from_tables(tables, settings, models)
        system.graph = stored_graph.from_tables(
            tables, models.embedder.dimensions, settings, len(system.turns)
        )
        return system


def _triples(turn: str, extractions: Mapping[str, Extraction]) -> list[Triple]:
    return triples_of(extractions.get(turn, _NOTHING))
