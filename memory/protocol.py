"""The one protocol behind which every memory system stands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Protocol, Self, runtime_checkable

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session, Turn
from memory.extraction import Extraction
from memory.models import ChatModel, ChatRequest, Embedder, Vectors


class Nobody:
    """Stands where nobody may be asked."""

    name = "none"

    def ask(self, request: ChatRequest, read: Callable[[str], Any]) -> NoReturn:
        """Refuse.

        Raises:
            LookupError: Always.
        """
        raise LookupError(f"task {request.task}: there is no model to ask")

    def ask_many(self, requests: Sequence[ChatRequest], read: Callable[[str], Any]) -> NoReturn:
        """Refuse, as `ask`."""
        raise LookupError(f"{len(requests)} requests: there is no model to ask")


@dataclass(frozen=True, slots=True)
class Models:
    """The models that a memory system may use.

    Attributes:
        chat: Reads questions.
        embedder: Embeds.
        builder: Extracts, for a system whose extraction must see its memory.
    """

    chat: ChatModel
    embedder: Embedder
    builder: ChatModel = field(default_factory=Nobody)


@dataclass(frozen=True, slots=True)
class Source:
    """A turn that recalled context stands on, with the score it is ranked by (higher is better)."""

    turn: str
    score: float


@dataclass(frozen=True, slots=True)
class Recall:
    """What a memory brings up for a question.

    Attributes:
        context: The text that the answerer reads.
        provenance: The distinct turns that it stands on, best first. It may be longer than what `context` shows
            only if the system ranks turns; a system that does not rank gives the turns in context order.
        items: How many chunks or nodes `context` shows.
        shown: Those of the provenance's turns that the context itself stands on, best first, for a system that ranks
            more; none: all.
        edges: How many edges `context` shows.
        flags: What the report should count, such as `no_roots`, `context_cut`.
    """

    context: str
    provenance: tuple[Source, ...]
    items: int
    edges: int = 0
    flags: tuple[str, ...] = ()
    shown: tuple[str, ...] | None = None

    @property
    def stands_on(self) -> tuple[str, ...]:
        """The turns that the context itself stands on, best first."""
        return tuple(source.turn for source in self.provenance) if self.shown is None else self.shown


@dataclass(frozen=True, slots=True)
class Size:
    """How large a memory is. `bytes` counts what must be kept to recall: texts, vectors, topology, bookkeeping."""

    items: int
    edges: int
    bytes: int


class MemorySystem(Protocol):
    """A memory of one history (or, for a persistent store, of many).

    A system is made by `system(settings, models)`; `settings` is an instance of its `Settings`. It needs no lock: a
    memory is used by one thread at a time.
    """

    Settings: ClassVar[type[BaseModel]]
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]]
    """Named settings, `published` among them where a paper defines the system."""
    needs_extractions: ClassVar[bool]
    asks: ClassVar[frozenset[str]]
    """Which models it asks, of `chat`, `embedder` and `builder`; what it does not ask cannot change what it recalls."""
    sees_evidence: ClassVar[bool]
    """True for `oracle` alone."""

    # A system that asks with prompts of its own also has `prompts`, a tuple with one request of each kind that it
    # makes: another wording builds its memories, or recalls, anew.

    def __init__(self, settings: Any, models: Models) -> None: ...

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Store a session. `extractions` are by turn id; a turn without one could not be extracted."""

    def recall(self, query: Query) -> Recall:
        """Bring up what the memory holds on a question."""

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """All texts that `remember` will embed, so that they can be embedded in large batches beforehand."""

    def size(self) -> Size:
        """How large the memory is now."""

    def tables(self) -> dict[str, pa.Table]:
        """The memory as Arrow tables, by name, such as `nodes` and `edges`."""

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: Any, models: Models) -> Self:
        """The memory that `tables` came from: it recalls and remembers exactly as the first would."""


@runtime_checkable
class Finishing(Protocol):
    """A system that works turns in later than it hears them."""

    def finish(self) -> None:
        """All sessions were heard: work in what waits.

        Raises:
            CallFailed: As `remember`.
            CallRefused: As `remember`.
        """


@runtime_checkable
class Budgeted(Protocol):
    """A system that can recall within a number of words, so that systems of other units are compared alike."""

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, once for each number of words that the context's items may have at most; none is no limit."""


@runtime_checkable
class Labelled(Protocol):
    """A system that can be told what its benchmark calls a question's type, which is a leak."""

    @property
    def reads_labels(self) -> bool:
        """Whether its settings say so; only then a query has a label."""


@runtime_checkable
class Beside(Protocol):
    """A system that is changed by what other conversations have in the same database."""

    def beside(self, vectors: Vectors) -> None:
        """Show it the vectors of the others, `(rows, dimensions)`."""


@runtime_checkable
class Traceable(Protocol):
    """What a memory system may offer beside `MemorySystem`: it says what it holds of a turn.

    With it, a miss can be told apart: whether the memory has lost a turn, or holds it and did not recall it.
    """

    def standing_on(self, turn: Turn) -> list[str]:
        """The texts that the memory holds of a turn, each as a context would show it, on lines of its own.

        A text is of a turn if it stands on it, alone or among others: the turn itself, or a node, an edge, a fact,
        an episode made or changed by it. What stands on nearly every turn and says nothing of this one, such as a
        node of its speaker, is left out. No model is asked and nothing changes.
        """
