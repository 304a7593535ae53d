"""`gam`: hierarchical graph-based agentic memory (Wu et al., 2026; second-hand: facts on GAAMA, section 14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session, Turn
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.gam import tables as stored_layers
from memory.gam.construction import Builder
from memory.gam.graph import TwoLayers
from memory.gam.packing import packed, ranked_turns, summary_line, utterance_line
from memory.gam.retrieval import Ranking, rank
from memory.gam.settings import BUILDING_FIELDS, GAM_PROFILES, GamSettings
from memory.models import ChatRequest
from memory.prompts import gam_boundary, gam_links, gam_topic
from memory.protocol import Models, Recall, Size, Source
from memory.systems.turns import stored


class Gam:
    """Turns gather in an event graph; where the subject changes it becomes a topic, linked to earlier topics.

    It costs one request for each end of a session, pause or full buffer, one for each topic, and one for its links.
    What is in the buffer can be recalled as well.
    """

    Settings: ClassVar[type[BaseModel]] = GamSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = GAM_PROFILES
    needs_extractions: ClassVar[bool] = False
    asks: ClassVar[frozenset[str]] = frozenset({"builder", "embedder"})
    sees_evidence: ClassVar[bool] = False
    built_by: ClassVar[frozenset[str]] = BUILDING_FIELDS
    prompts: ClassVar[tuple[ChatRequest, ...]] = (
        gam_boundary.request(()),
        gam_topic.request(()),
        gam_links.request("", ()),
    )

    def __init__(self, settings: GamSettings, models: Models) -> None:
        self.settings = settings
        self.models = models
        self.graph = TwoLayers(models.embedder.dimensions)
        self.builder = Builder(self.graph, settings, models.builder, models.embedder)

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The session's turns; what topics are summed up as is not known before."""
        return [held.text(self.settings.text) for held in stored(session)]

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Append the turns of a session; the last of them wait in the buffer.

        Raises:
            CallFailed: If a fault of transport keeps a reply or a vector back; build the memory anew.
            CallRefused: If no further call may be made.
        """
        self.builder.hear(session)

    def finish(self) -> None:
        """Without an event graph the buffer cannot be recalled: what waits in it becomes a topic. Else it stays.

        Raises:
            CallFailed: As `remember`.
            CallRefused: As `remember`.
        """
        if not self.settings.event_graph:
            self.builder.consolidate(len(self.graph.utterances))

    def recall(self, query: Query) -> Recall:
        """Topics and utterances for a question, within the settings' words.

        Raises:
            CallFailed: If the question has no vector.
        """
        return self.recall_within(query, [self.settings.max_words])[0]

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; see `Budgeted`."""
        embedded = self.models.embedder.embed([query.text])
        if embedded.failures:
            raise CallFailed(f"the question could not be embedded: {embedded.failures[0]}", final=False)
        vector = self.graph.vectors.unit(embedded.vectors[0])
        found = rank(self.graph, self.settings, vector, query.text, query.date)
        return [self._recalled(found, words) for words in sizes]

    def _recalled(self, found: Ranking, words: int | None) -> Recall:
        """A ranking as a context of at most so many words."""
        shown = packed(self.graph, self.settings, found, words)
        flags = {
            "replies_failed": self.builder.failed > 0,
            "turns_without_vector": len(self.graph.vectors) < len(self.graph.utterances),
            "trimmed": shown.turns < len(found.reached),
            "nothing_found": not shown.items,
        }
        provenance = tuple(Source(turn, score) for turn, score in ranked_turns(self.graph, found))
        return Recall(
            context=shown.text,
            provenance=provenance,
            items=shown.items,
            flags=tuple(name for name, up in flags.items() if up),
            shown=tuple(source.turn for source in provenance[: shown.turns]),
        )

    def standing_on(self, turn: Turn) -> list[str]:
        """The turn and its topic's summary, as far as a context could show them; see `Traceable`."""
        places = [n for n, each in enumerate(self.graph.utterances) if each.held.turn.id == turn.id]
        lines = [utterance_line(self.graph, self.settings, n) for n in places if self.settings.event_graph]
        for number, topic in enumerate(self.graph.topics):
            if any(place in topic.places for place in places):
                lines.append(summary_line(self.graph, number))
        return [line for line in lines if line]

    def size(self) -> Size:
        """Utterances and topics, edges of all kinds, and the bytes of the tables."""
        tables = self.tables()
        evidence = sum(len(topic.places) for topic in self.graph.topics) if self.settings.topics else 0
        edges = tables["event_edges"].num_rows + tables["topic_links"].num_rows + evidence
        topics = len(self.graph.topics) if self.settings.topics else 0
        nbytes = sum(table.nbytes for table in tables.values())
        return Size(len(self.graph.utterances) + topics, edges, nbytes)

    def tables(self) -> dict[str, pa.Table]:
        """The tables `utterances`, `topics`, `event_edges`, `topic_links` and `counts`."""
        return stored_layers.to_tables(self.graph, self.builder.failed)

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: GamSettings, models: Models) -> Self:
        """The memory of its tables.

        Raises:
            BadInput: If they do not fit one another.
        """
        system = cls(settings, models)
        system.graph, failed = stored_layers.from_tables(tables, models.embedder.dimensions)
        system.builder = Builder(system.graph, settings, models.builder, models.embedder)
        system.builder.failed = failed
        return system
