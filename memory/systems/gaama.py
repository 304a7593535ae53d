"""`gaama`: graph-augmented associative memory (Paul et al., 2026; facts on GAAMA, sections 0 to 5)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Observation, Query, Session, Turn
from memory.errors import BadInput, CallFailed
from memory.extraction import Extraction
from memory.gaama import tables as stored
from memory.gaama.chunks import Event, events, full_chunks
from memory.gaama.construction import Builder
from memory.gaama.graph import ConceptGraph, episode_id
from memory.gaama.packing import line, packed, rendered, trimmed
from memory.gaama.repairing import GaamaEditing
from memory.gaama.retrieval import Ranking, Scored, Search, search, weigh
from memory.gaama.settings import BUILDING_FIELDS, GAAMA_PROFILES, GaamaSettings
from memory.models import ChatRequest, Vectors
from memory.prompts import concept_facts, reflections
from memory.protocol import Models, Recall, Size, Source
from memory.vectors import VectorIndex


class Gaama:
    """Turns are kept verbatim; a language model hangs facts, concepts and reflections on them, chunk by chunk.

    What it extracts depends on what it remembers, so it asks the builder itself, in order.
    """

    Settings: ClassVar[type[BaseModel]] = GaamaSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = GAAMA_PROFILES
    needs_extractions: ClassVar[bool] = False
    asks: ClassVar[frozenset[str]] = frozenset({"builder", "embedder"})
    sees_evidence: ClassVar[bool] = False
    built_by: ClassVar[frozenset[str]] = BUILDING_FIELDS
    prompts: ClassVar[tuple[ChatRequest, ...]] = (concept_facts.request((), ()), reflections.request(()))

    def __init__(self, settings: GaamaSettings, models: Models) -> None:
        self.settings = settings
        self.models = models
        self.graph = ConceptGraph(models.embedder.dimensions)
        self.builder = Builder(self.graph, settings, models.builder, models.embedder)
        self.others: VectorIndex | None = None
        self.waiting: list[Event] = []
        self.observed: dict[str, list[Observation]] = {}

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The session's episodes; what is read in them is not known before."""
        return [event.text for event in events(session, captions=self.settings.captions)]

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Work in the chunks that the session fills; what is left of it waits for the next, or for `finish`.

        Raises:
            CallFailed: If a fault of transport keeps a reply or a vector back; build the memory anew.
            CallRefused: If no further call may be made.
        """
        for found in session.observations:
            self.observed.setdefault(found.turns[-1], []).append(found)
        waiting = [*self.waiting, *events(session, captions=self.settings.captions)]
        chunks, self.waiting = full_chunks(waiting, self.settings.chunk_words)
        self._work_in(chunks)

    def finish(self) -> None:
        """Work in the last chunk, full or not.

        Raises:
            CallFailed: As `remember`.
            CallRefused: As `remember`.
        """
        chunk, self.waiting = self.waiting, []
        self._work_in([chunk] if chunk else [])

    def _work_in(self, chunks: Sequence[Sequence[Event]]) -> None:
        for chunk in chunks:
            observed = [found for event in chunk for found in self.observed.pop(event.turn, [])]
            self.builder.work_in(chunk, observed)

    def beside(self, vectors: Vectors) -> None:
        """Show the memory the vectors of other conversations in the same database, `(rows, dimensions)`.

        The published code took the nearest of all before it left out the others' (facts, 0.4). Only recall is
        changed: which conversations are there when another is built depends on the order they are built in.

        Raises:
            ValueError: If a vector is of another length, not finite, or zero.
        """
        self.others = VectorIndex(self.graph.vectors.dimensions)
        for vector in vectors:
            self.others.add(vector)

    def with_graph(self, graph: ConceptGraph) -> Gaama:
        """A memory that recalls from another graph, beside the same conversations."""
        other = Gaama(self.settings, self.models)
        other.graph, other.others = graph, self.others
        return other

    def recall(self, query: Query) -> Recall:
        """Facts, reflections and episodes for a question, within the settings' tokens, or else their words.

        Raises:
            CallFailed: If the question has no vector, or as `finish`, where turns still wait.
        """
        words = self.settings.max_words if self.settings.budget_tokens is None else None
        return self.recall_within(query, [words])[0]

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; none: the budget of tokens, or all. See `Budgeted`."""
        ranking = self.ranked(query)
        return [self.recalled(ranking, words) for words in sizes]

    def ranked(self, query: Query) -> Ranking:
        """What a question brings up, before it is trimmed.

        Raises:
            CallFailed: As `recall`.
        """
        return weigh(self.graph, self.settings, self.searched(query))

    def searched(self, query: Query) -> Search:
        """What is found for a question, before it is weighed.

        Raises:
            CallFailed: As `recall`.
        """
        self.finish()
        embedded = self.models.embedder.embed([query.text])
        if embedded.failures:
            raise CallFailed(f"the question could not be embedded: {embedded.failures[0]}", final=False)
        return search(self.graph, self.settings, self.graph.vectors.unit(embedded.vectors[0]), self.others)

    def recalled(self, found: Ranking, words: int | None) -> Recall:
        """A ranking as a context of so many words; none: of as many tokens as the settings say, or all of it."""
        budget = self.settings.budget_tokens
        if words is None and budget is not None:
            shown = packed(found.chosen, budget, self.settings.entry_tokens)
        else:
            shown = trimmed(found.chosen, self.settings, words)
        flags = {
            "replies_failed": self.builder.failed > 0,
            "items_without_vector": self.builder.unembedded > 0,
            "trimmed": len(shown) < len(found.chosen),
            "found_by_graph_alone": found.discovered > 0,
            "nothing_found": not shown,
        }
        return Recall(
            context=rendered(shown),
            provenance=self._provenance(shown),
            items=len(shown),
            flags=tuple(name for name, up in flags.items() if up),
        )

    def editing(self) -> GaamaEditing:
        """The graph, open for repair.

        Raises:
            CallFailed: As `finish`, where turns still wait.
        """
        self.finish()
        return GaamaEditing(self.graph, self.settings, self.models.embedder, self.others)

    def _provenance(self, shown: Sequence[Scored]) -> tuple[Source, ...]:
        """The turns that the items stand on, each with the score of the best item on it; equal ones in its order."""
        best: dict[str, float] = {}
        for found in shown:
            for turn in self.graph.turns_of(found.item):
                best[turn] = max(best.get(turn, 0.0), found.score)
        return tuple(Source(turn, score) for turn, score in sorted(best.items(), key=lambda turn: -turn[1]))

    def standing_on(self, turn: Turn) -> list[str]:
        """The episode of a turn, the facts that were read in it, and the reflections on these; see `Traceable`."""
        id = episode_id(turn.id)
        if id not in self.graph:
            return []
        facts = dict.fromkeys(self.graph.origins("DERIVED_FROM", id))
        drawn = dict.fromkeys(
            found for fact in facts for found in self.graph.origins("DERIVED_FROM_FACT", fact)
        )
        return [line(self.graph.items[found]) for found in (id, *facts, *drawn)]

    def size(self) -> Size:
        """Items, edges, and the bytes of the tables."""
        nbytes = sum(table.nbytes for table in self.tables().values())
        return Size(len(self.graph), self.graph.topology.number_of_edges(), nbytes)

    def tables(self) -> dict[str, pa.Table]:
        """The tables `items`, `links`, `waiting` and `state`."""
        state = {
            "sequence": self.graph.sequence,
            "last_episode": self.graph.last_episode,
            "failed": self.builder.failed,
            "unembedded": self.builder.unembedded,
        }
        return {
            **stored.graph_tables(self.graph),
            "waiting": stored.waiting_table(self.waiting, self.observed),
            "state": pa.Table.from_pylist([state], schema=stored.STATE),
        }

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: GaamaSettings, models: Models) -> Self:
        """The memory of its tables.

        Raises:
            BadInput: If they do not fit one another.
        """
        system = cls(settings, models)
        missing = {"items", "links", "waiting", "state"} - tables.keys()
        if missing:
            raise BadInput(f"the memory lacks its table {min(missing)}; build it again")
        [state] = tables["state"].to_pylist()
        system.graph = stored.graph_of(tables, models.embedder.dimensions)
        system.graph.sequence, system.graph.last_episode = state["sequence"], state["last_episode"]
        system.builder = Builder(system.graph, settings, models.builder, models.embedder)
        system.builder.failed, system.builder.unembedded = state["failed"], state["unembedded"]
        system.waiting, system.observed = stored.waiting_of(tables["waiting"])
        return system
