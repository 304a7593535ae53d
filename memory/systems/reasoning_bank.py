"""`reasoning_bank`: what sessions that went well or badly teach, found by their query (facts on GAAMA, section 14)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Self, TypeVar

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session, Turn
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.lines import Line, chunked, named, source_lines, turns_of
from memory.models import ChatRequest, Vectors
from memory.packing import fitting
from memory.prompts import rb_extract, rb_judge
from memory.protocol import Models, Recall, Size
from memory.provenance import sources
from memory.reasoning import tables as stored_bank
from memory.reasoning.bank import Bank, Item
from memory.reasoning.settings import BUILDING_FIELDS, REASONING_BANK_PROFILES, ReasoningBankSettings
from memory.systems.turns import stored

T = TypeVar("T")


class ReasoningBank:
    """A language model judges each session and draws items from it, with other instructions after a failure.

    Nothing but the items is kept, and nothing of them is ever changed. A session costs two calls, a judgement and an
    extraction, for each chunk of its lines; a session that is handed in turn by turn is judged turn by turn. Recall
    asks the embedder alone.
    """

    Settings: ClassVar[type[BaseModel]] = ReasoningBankSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = REASONING_BANK_PROFILES
    needs_extractions: ClassVar[bool] = False
    asks: ClassVar[frozenset[str]] = frozenset({"builder", "embedder"})
    sees_evidence: ClassVar[bool] = False
    built_by: ClassVar[frozenset[str]] = BUILDING_FIELDS
    prompts: ClassVar[tuple[ChatRequest, ...]] = (
        rb_judge.request(()),
        rb_extract.request((), 3, success=True),
        rb_extract.request((), 3, success=False),
    )

    def __init__(self, settings: ReasoningBankSettings, models: Models) -> None:
        self.settings = settings
        self.models = models
        self.bank = Bank(models.embedder.dimensions)
        self.failed = 0
        """Calls of which there is no usable reply; their trajectory teaches nothing."""

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The query of a session, if that is what is embedded; what items it will give is not known before."""
        query = query_of(session)
        return [query] if query and self.settings.embedded == "query" else []

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Judge a session and learn from it, chunk by chunk; the chunks of a long one share its query.

        Raises:
            CallFailed: If a fault of transport keeps a reply or a vector back; build the memory anew.
            CallRefused: If no further call may be made.
        """
        [query] = self._embedded(self.texts(session, extractions)) or [None]
        for chunk in chunked(source_lines(stored(session)), self.settings.chunk_tokens):
            items = self._learnt(chunk)
            if self.settings.embedded == "item":
                for item, vector in zip(items, self._embedded([item.text for item in items]), strict=True):
                    self.bank.add((item,), vector)
            elif items:
                self.bank.add(tuple(items), query)

    def _learnt(self, chunk: Sequence[Line]) -> list[Item]:
        """The items of a trajectory; none where its outcome or its items are not known."""
        lines = [(line.id, line.text) for line in chunk]
        success = self._asked(rb_judge.request(lines), rb_judge.read)
        if success is None:
            return []
        request = rb_extract.request(lines, self.settings.items, success=success)
        replies = self._asked(request, rb_extract.read) or []
        return [
            Item(each.title, each.description, each.content, success, turns_of(named(each.lines, chunk)))
            for each in replies[: self.settings.items]
        ]

    def _asked(self, request: ChatRequest, read: Callable[[str], T]) -> T | None:
        """A reply, or none where replies stayed unusable."""
        try:
            return self.models.builder.ask(request, read).value
        except CallFailed as failure:
            if not failure.final:
                raise
            self.failed += 1
            return None

    def _embedded(self, texts: Sequence[str]) -> list[Vectors | None]:
        """A vector for each text, or none where there is none."""
        if not texts:
            return []
        embedded = self.models.embedder.embed(texts)
        return [None if row in embedded.failures else embedded.vectors[row] for row in range(len(texts))]

    def recall(self, query: Query) -> Recall:
        """The items nearest to the question, or what the settings' budget takes of them.

        Flags: `replies_failed` and `items_without_vector`, if any; `trimmed` if items did not fit. Scores are the
        cosine by which the item that a turn is first behind was found.

        Raises:
            CallFailed: If the question has no vector.
        """
        return self.recall_tokens(query, self.settings.budget_tokens)

    def recall_tokens(self, query: Query, tokens: int | None) -> Recall:
        """As `recall`, with items that cost at most so many tokens; none takes all that were found.

        An item costs its line and `entry_tokens`; see `memory.packing`.
        """
        embedded = self.models.embedder.embed([query.text])
        if embedded.failures:
            raise CallFailed(f"the question could not be embedded: {embedded.failures[0]}", final=False)
        found = self.bank.nearest(embedded.vectors[0], self.settings.k)
        taken = fitting([item.line for item, _ in found], tokens, self.settings.entry_tokens)
        shown = [found[place] for place in taken]
        flags = {
            "replies_failed": self.failed > 0,
            "items_without_vector": len(self.bank.places) < len(self.bank.experiences),
            "trimmed": len(shown) < len(found),
        }
        return Recall(
            context="\n".join(item.line for item, _ in shown),
            provenance=sources((item.turns, cosine) for item, cosine in shown),
            items=len(shown),
            flags=tuple(name for name, up in flags.items() if up),
        )

    def standing_on(self, turn: Turn) -> list[str]:
        """The items of which a turn is a source; see `Traceable`."""
        return [item.line for item in self.bank.items if turn.id in item.turns]

    def size(self) -> Size:
        """Items, and the bytes of the tables."""
        return Size(len(self.bank.items), 0, sum(table.nbytes for table in self.tables().values()))

    def tables(self) -> dict[str, pa.Table]:
        """The tables `items`, `vectors` and `state`."""
        return stored_bank.to_tables(self.bank, self.failed)

    @classmethod
    def from_tables(
        cls, tables: Mapping[str, pa.Table], settings: ReasoningBankSettings, models: Models
    ) -> Self:
        """The memory of its tables.

        Raises:
            BadInput: If they do not fit one another.
        """
        system = cls(settings, models)
        system.bank, system.failed = stored_bank.from_tables(tables, models.embedder.dimensions)
        return system


def query_of(session: Session) -> str:
    """What the user says first in a session, or, where the user says nothing, what is said first; may be empty."""
    said = [turn for turn in session.turns if turn.text.strip()]
    first = next((turn for turn in said if turn.role == "user"), said[0] if said else None)
    return first.text if first else ""
