"""`taggraph`: turns found by shared notes of who, what, when, where and why (TAGGRAPH; Chen et al., 2026)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session
from memory.diffusion import Doubles
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.graph import in_utc
from memory.lexical import LexicalIndex
from memory.models import ChatRequest, Vectors
from memory.prompts import five_ws
from memory.prompts.extraction import spoken_text
from memory.prompts.five_ws import SLOTS, Slots
from memory.protocol import Models, Size
from memory.systems.searching import Scores, TurnSearcher
from memory.systems.turns import to_table
from memory.taggraph import notes as stored_notes
from memory.taggraph.fill import LEAST_FILLED, filled
from memory.taggraph.graph import TagGraph
from memory.taggraph.notes import NO_TAGS, Note, Status, dated
from memory.taggraph.quality import worsened
from memory.taggraph.settings import BUILDING_FIELDS, TAGGRAPH_PROFILES, TagGraphSettings
from memory.taggraph.vocabulary import Vocabulary


class TagGraphMemory(TurnSearcher[TagGraphSettings]):
    """Keeps turns and their notes; a question goes from its tags over the graph of notes to turns.

    The notes are asked of the builder, a call a turn. They depend on no setting: all arms send the same requests, which
    are bought once. Graph and index are made of the notes at the first recall after a session was heard.
    """

    Settings: ClassVar[type[BaseModel]] = TagGraphSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = TAGGRAPH_PROFILES
    asks: ClassVar[frozenset[str]] = frozenset({"builder", "chat"})
    built_by: ClassVar[frozenset[str]] = BUILDING_FIELDS
    prompts: ClassVar[tuple[ChatRequest, ...]] = (
        five_ws.turn_request("user", "text"),
        five_ws.question_request("question"),
    )

    def __init__(self, settings: TagGraphSettings, models: Models) -> None:
        super().__init__(settings, models)
        self.notes: list[Note] = []
        self._vocabulary = Vocabulary(settings.normalisation)
        self._graph: TagGraph | None = None
        self._index: LexicalIndex | None = None
        self._faults: tuple[str, ...] | None = None

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session, and the notes that the builder makes of them.

        Raises:
            CallFailed: If a fault of transport keeps a note back; build the memory anew.
            CallRefused: If no further call may be made.
        """
        texts = {turn.id: spoken_text(turn) for turn in session.turns}
        spoken = [turn for turn in session.turns if texts[turn.id].strip()]
        requests = [five_ws.turn_request(turn.speaker, texts[turn.id]) for turn in spoken]
        replies = self.models.builder.ask_many(requests, five_ws.read) if requests else []
        read: dict[str, tuple[Slots, Status]] = {}
        for turn, reply in zip(spoken, replies, strict=True):
            if isinstance(reply, CallFailed):
                if not reply.final:
                    raise reply
                read[turn.id] = NO_TAGS, "failed"
            else:
                read[turn.id] = reply.value, "ok"
        sitting = self.notes[-1].session + 1 if self.notes else 0
        time = in_utc(session.date)
        day = time.date() if time else None
        super().remember(session, extractions)
        self.notes += [
            Note(turn.id, sitting, day, *read.get(turn.id, (NO_TAGS, "blank"))) for turn in session.turns
        ]
        self._graph = self._index = self._faults = None

    def found(self, query: Query) -> Scores:
        """The score of each turn: that of its note.

        Flags: `no_seeds` if nothing matches the question; `query_failed` if there are no usable tags of it, so that its
        words alone were matched; `notes_failed` if turns have no note for want of a usable reply; `slots_under_20` if
        fewer than a fifth of the notes have a tag in the slots that the settings name.

        Raises:
            CallFailed: If a fault of transport keeps the question's tags back.
            CallRefused: If no further call may be made.
        """
        over_graph = self.settings.retrieval == "graph"
        scores, failed = self._over_graph(query) if over_graph else (self._by_words(query.text), False)
        own = {"no_seeds": not scores.any(), "query_failed": failed}
        flags = (*(name for name, up in own.items() if up), *self._faults_of_notes())
        return Scores(scores, flags=flags)

    def _faults_of_notes(self) -> tuple[str, ...]:
        """The flags that every recall has until another session is heard."""
        if self._faults is None:
            faults = {
                "notes_failed": any(note.status == "failed" for note in self.notes),
                "slots_under_20": filled(self.notes, self.settings.slots) < LEAST_FILLED,
            }
            self._faults = tuple(name for name, up in faults.items() if up)
        return self._faults

    def _over_graph(self, query: Query) -> tuple[Doubles, bool]:
        """The score of each note over the graph, and whether the question's tags are missing."""
        tags = self.tags_of(query)
        graph = self.graph()
        scores = graph.scores(graph.seeds(self._words_asked(query.text, tags or NO_TAGS)))
        return scores, tags is None

    def tags_of(self, query: Query) -> Slots | None:
        """The question's tags, times with the dates that they mean on the day it is asked; none if replies failed."""
        try:
            tags: Slots = self.models.chat.ask(five_ws.question_request(query.text), five_ws.read).value
        except CallFailed as failure:
            if not failure.final:
                raise
            return None
        day = query.date.date() if query.date else None
        return {**tags, "when": tuple(dated(tags["when"], day))}

    def _words_asked(self, question: str, tags: Slots) -> dict[str, frozenset[str]]:
        """By slot, the words that a tag of it is matched with: of the question's tags in it, or of all it says."""
        words = self._vocabulary.words
        own = {slot: frozenset(w for tag in tags[slot] for w in words(tag)) for slot in SLOTS}
        if not self.settings.across_slots:
            return own
        return dict.fromkeys(SLOTS, frozenset(words(question)).union(*own.values()))

    def graph(self) -> TagGraph:
        """The graph of the notes, as good as the settings let them be."""
        if self._graph is None:
            self._graph = TagGraph(self._notes_read(), self.settings, self._vocabulary)
        return self._graph

    def _notes_read(self) -> list[Note]:
        settings = self.settings
        return worsened(self.notes, settings.drop, settings.corrupt, settings.quality_seed)

    def _by_words(self, question: str) -> Vectors:
        """BM25 of each note's tags."""
        if self._index is None:
            self._index = LexicalIndex(stem=False, stop_words=False)  # the vocabulary has done both
            self._index.add(
                self._plain(tag for slot in self.settings.slots for tag in note.values(slot))
                for note in self._notes_read()
            )
        return self._index.scores(self._plain([question]))

    def _plain(self, values: Iterable[str]) -> str:
        """Values as BM25 reads them: the words of all, one after another."""
        return " ".join(word for value in values for word in self._vocabulary.words(value))

    def size(self) -> Size:
        """Turns, edges of the graph, and the bytes of the turns' texts and of the notes."""
        edges = self.graph().edges if self.settings.retrieval == "graph" else 0
        return Size(len(self.turns), edges, super().size().bytes + stored_notes.to_table(self.notes).nbytes)

    def tables(self) -> dict[str, pa.Table]:
        """The table `notes`: the turns, each with its note."""
        return {"notes": stored_notes.beside(to_table(self.turns), self.notes)}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: TagGraphSettings, models: Models) -> Self:
        """The memory of the table `notes`.

        Raises:
            BadInput: If it is of another form.
        """
        system = super().from_tables({"turns": tables["notes"]}, settings, models)
        system.notes = stored_notes.from_table(tables["notes"])
        return system
