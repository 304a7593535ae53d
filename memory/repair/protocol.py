"""What a graph memory must offer to be repaired."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Shown:
    """Something that the memory holds, as a repair sees it.

    Attributes:
        id: Its id in the memory.
        kind: `fact`, `episode`, `concept`, or another that the memory knows.
        text: What it says; of a concept, its label.
        score: What it is ranked by, or its similarity, by what was asked for; 0 where it was not searched for.
    """

    id: str
    kind: str
    text: str
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class ShownEdge:
    """An edge, from id to id."""

    source: str
    type: str
    target: str


@dataclass(frozen=True, slots=True)
class Pack:
    """What the memory brings up within a small budget.

    Attributes:
        items: Best first.
        context: The same as the answerer reads it.
    """

    items: tuple[Shown, ...]
    context: str


class GraphEditing(Protocol):
    """A memory's graph, open for repair. Ids that it is given must be ids that it has shown."""

    def recall_little(self, text: str, *, facts: int, episodes: int) -> Pack:
        """The best facts and episodes for a text, untrimmed.

        Raises:
            CallFailed: If the text has no vector.
        """

    def nearest(self, text: str, count: int) -> list[Shown]:
        """The items of any kind that are most similar to a text, best first, with similarity (1 + cosine) / 2.

        Raises:
            CallFailed: If the text has no vector.
        """

    def concepts_beside(self, ids: Iterable[str]) -> list[Shown]:
        """The concepts that some facts and episodes are joined to, each once."""

    def concept_edges(self, ids: Iterable[str]) -> list[ShownEdge]:
        """The edges between some facts and episodes and their concepts."""

    def all_of(self, kind: str) -> list[Shown]:
        """All items of a kind, in the order they came to be."""

    def turns_of(self, id: str) -> tuple[str, ...]:
        """The turns that an item stands on."""

    def add_fact(self, text: str, belief: float, sources: Iterable[str]) -> str:
        """Store a fact that stands on some items, and return its id.

        Raises:
            CallFailed: If the text has no vector; nothing is stored then.
        """

    def concept(self, label: str) -> str:
        """The id of the concept of a label; it is made where there is none.

        Raises:
            CallFailed: As `add_fact`.
        """

    def join_concept(self, concept: str, ids: Iterable[str]) -> int:
        """Join facts and episodes to a concept; returns how many edges are new."""

    def remove(self, id: str) -> None:
        """Take out an item and its edges."""

    def part(self, source: str, target: str) -> None:
        """Take out the edges from one item to another."""


@runtime_checkable
class Repairable(Protocol):
    """A system whose graph can be repaired."""

    def editing(self) -> GraphEditing:
        """The graph, open for repair: what is changed there, the system recalls from."""
