"""The graph of GAAMA: items of four kinds, typed edges between them, and a vector for each item.

Facts, sections 1 and 2.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Literal

import networkx as nx
import numpy as np

from memory.diffusion import Diffusion
from memory.models import Vectors
from memory.tokens import sendable
from memory.vectors import Rows, VectorIndex

Kind = Literal["episode", "fact", "concept", "reflection"]
EdgeType = Literal["NEXT", "DERIVED_FROM", "HAS_CONCEPT", "ABOUT_CONCEPT", "DERIVED_FROM_FACT"]

WEIGHTS: dict[str, float] = {
    "NEXT": 0.8,
    "DERIVED_FROM": 0.8,
    "HAS_CONCEPT": 0.8,
    "ABOUT_CONCEPT": 0.8,
    "DERIVED_FROM_FACT": 0.5,
}
"""What an edge weighs in diffusion, by its type (Table 2). Stored weights, all 1, change nothing (0.7)."""


@dataclass(slots=True)
class Item:
    """Something remembered.

    Attributes:
        id: See `text_id`; an episode's is made from its turn.
        row: Of its vector.
        kind: What it is.
        text: What is embedded and shown.
        sequence: Its place in the order in which items came to be; none for what a repair has added.
        turn: Of an episode, the turn that it keeps.
        session: Of an episode, its session's id.
        time: Of an episode, its session's date.
        belief: Stored, and never used (0.12).
        origin: Who made it.
    """

    id: str
    row: int
    kind: Kind
    text: str
    sequence: int | None
    turn: str | None = None
    session: str | None = None
    time: datetime | None = None
    belief: float = 1.0
    origin: Literal["built", "repaired"] = "built"


def text_id(text: str) -> str:
    """The id of a fact, concept or reflection: equal texts are one item, whatever their kind."""
    plain = " ".join(text.strip().lower().split())
    return "entity-" + hashlib.sha256(f"entity|{plain}".encode("utf-8", "surrogatepass")).hexdigest()[:16]


def episode_id(turn: str) -> str:
    """The id of the episode of a turn. The code draws it at random; here a prompt that shows it must stay the same."""
    return "ep-" + hashlib.sha256(turn.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def similarity(cosine: np.ndarray) -> np.ndarray:
    """What the code calls similarity: 1 - distance / 2 with distance = 1 - cosine, at least 0 (0.3)."""
    found: np.ndarray = np.maximum(0.0, (1.0 + cosine) / 2.0)
    return found


class ConceptGraph:
    """Items and edges. What a recall gathers from all of them is gathered once, and kept until they change.

    Attributes:
        items: By id, in the order they came to be.
        vectors: Of the items, by row.
        topology: The edges, each with its `type` and its `order`.
        sequence: Of the last item that was numbered.
        joined: How many edges were ever added.
        last_episode: The episode that the next one follows.
    """

    def __init__(self, dimensions: int) -> None:
        self.items: dict[str, Item] = {}
        self.vectors = VectorIndex(dimensions)
        self.topology: nx.MultiDiGraph[str] = nx.MultiDiGraph()
        self.sequence = 0
        self.joined = 0
        self.last_episode: str | None = None
        self._by_row: list[str] = []
        self._rows: dict[frozenset[str], Rows] = {}
        self._diffusions: dict[tuple[frozenset[str], int | None], Diffusion] = {}

    def __len__(self) -> int:
        return len(self.items)

    def __contains__(self, id: str) -> bool:
        return id in self.items

    def at(self, row: int) -> Item:
        """The item of a row."""
        return self.items[self._by_row[row]]

    def of_kind(self, kind: Kind) -> Iterator[Item]:
        """The items of a kind, in the order they came to be."""
        return (item for item in self.items.values() if item.kind == kind)

    def rows_of(self, kinds: Iterable[str]) -> Rows:
        """The rows of the items of some kinds, in order."""
        key = frozenset(kinds)
        if key not in self._rows:
            rows = [item.row for item in self.items.values() if item.kind in key]
            self._rows[key] = np.sort(np.asarray(rows, np.intp))
        return self._rows[key]

    def add(self, item: Item, vector: Vectors) -> Item:
        """Store an item, or replace what is stored of the one with its id; edges stay (facts, section 1: upsert).

        Raises:
            ValueError: If the vector is refused; nothing is changed.
        """
        known = self.items.get(item.id)
        if known is None:
            item.row = self.vectors.add(vector)
            self._by_row.append(item.id)
            self.topology.add_node(item.id)
        else:
            item.row = known.row  # the vector stays: texts of one id differ in case and blanks alone
        item.text = sendable(item.text)  # a model may write half a character, which no table holds
        self.items[item.id] = item
        self._changed()  # also here: what is replaced may have been of another kind
        return item

    def _changed(self) -> None:
        self._rows.clear()
        self._diffusions.clear()

    def next_number(self) -> int:
        """The next place in the order of items."""
        self.sequence += 1
        return self.sequence

    def join(self, type: EdgeType, source: str, target: str) -> None:
        """Add an edge; the same pair may be joined again, and weighs more then."""
        self.topology.add_edge(source, target, type=type, order=self.joined)
        self.joined += 1
        self._changed()

    def remove(self, id: str) -> None:
        """Take out an item and its edges; its row stays dead."""
        self.vectors.remove([self.items.pop(id).row])
        self.topology.remove_node(id)
        if id == self.last_episode:
            self.last_episode = None
        self._changed()

    def part(self, source: str, target: str) -> None:
        """Take out all edges from one item to another."""
        self.topology.remove_edges_from([(source, target)] * self.topology.number_of_edges(source, target))
        self._changed()

    def ends(self, type: EdgeType, source: str) -> list[str]:
        """Where the edges of a type lead from an item, in the order they were added."""
        edges = self.topology.out_edges(source, data=True)
        return [end for _, end, data in edges if data["type"] == type]

    def origins(self, type: EdgeType, target: str) -> list[str]:
        """Where the edges of a type that lead to an item come from, in the order they were added."""
        edges = self.topology.in_edges(target, data=True)
        return [start for start, _, data in edges if data["type"] == type]

    def turns_of(self, item: Item) -> tuple[str, ...]:
        """The turns that an item stands on: an episode's own, a fact's or concept's episodes', a reflection's facts'.

        Equal texts are one item, so that a reflection may rest on itself: each item is visited once.
        """
        turns: dict[str, None] = {}
        visited = {item.id}
        ahead = [item.id]
        while ahead:
            here = self.items[ahead.pop()]
            if here.turn is not None:
                turns[here.turn] = None
            below = [id for id in dict.fromkeys(self._stands_on(here)) if id not in visited]
            visited.update(below)
            ahead += reversed(below)
        return tuple(turns)

    def _stands_on(self, item: Item) -> list[str]:
        edges = self.topology.out_edges(item.id, data=True)
        below = [end for _, end, data in edges if data["type"] in ("DERIVED_FROM", "DERIVED_FROM_FACT")]
        return below + (self.origins("HAS_CONCEPT", item.id) if item.kind == "concept" else [])

    def diffusion(self, kinds: Iterable[str], hub_limit: int | None) -> Diffusion:
        """What diffuses over the items of some kinds and the edges between them; its rows are those of the vectors."""
        key = (frozenset(kinds), hub_limit)
        if key not in self._diffusions:
            ends, weights = [], []
            for source, target, data in self.topology.edges(data=True):
                if self.items[source].kind in key[0] and self.items[target].kind in key[0]:
                    ends.append((self.items[source].row, self.items[target].row))
                    weights.append(WEIGHTS[data["type"]])
            edges = np.asarray(ends, np.intp).reshape(-1, 2)
            made = Diffusion.of_edges(len(self.vectors), edges, np.asarray(weights, np.float64), hub_limit)
            self._diffusions[key] = made
        return self._diffusions[key]
