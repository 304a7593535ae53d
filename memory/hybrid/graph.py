"""Turns and the entities that they mention, with the values that are stated of them, and a walk over both."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.diffusion import Diffusion
from memory.hybrid.entities import entities_of, phrases_of, values_of
from memory.vectors import Doubles, Mask, Rows

Ints = npt.NDArray[np.int32]
_MENTION = 8
"""Bytes of a mention: its turn and its entity."""
_NEXT = 0.3
"""What the edge between consecutive turns of a session weighs; that to an entity weighs 1 / ln(1 + mentions)."""


@dataclass(frozen=True, slots=True)
class Version:
    """What a turn states of an entity."""

    turn: int
    value: str


class EntityGraph:
    """Entities, numbered as they are met, and the turns that mention them, numbered in the order they are added in."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}
        self._first = array("i")  # the turn that mentions each entity first: most are never mentioned again
        self._later: dict[int, array[int]] = {}  # the others, in order
        self._degrees = array("i")  # how many they are
        self._entities = array("i")  # the entities of each turn, one turn after another
        self._values: list[str | None] = []  # what is stated of each
        self._ends = array("q")  # where each turn's end

    def __len__(self) -> int:
        """How many turns there are."""
        return len(self._ends)

    @property
    def edges(self) -> int:
        """How many mentions there are."""
        return len(self._entities)

    @property
    def nbytes(self) -> int:
        """Bytes of names, mentions and values."""
        return int(self.entity_bytes().sum()) + 8 * len(self)

    def entity_bytes(self) -> Rows:
        """Bytes of each entity: its name, its mentions and its values."""
        names = np.array([_length(name) for name in self.numbers], np.intp)
        values = np.array([_length(value or "") for value in self._values], np.float64)
        stated = np.bincount(self._entities, weights=values, minlength=len(names)).astype(np.intp)
        return names + _MENTION * self.degrees() + stated

    def add(self, text: str, *, stated: bool) -> None:
        """Add a turn.

        Args:
            text: What it says.
            stated: Whether it states values: those that an assistant gives are not the user's.
        """
        self.restore(entities_of(text), values_of(text) if stated else {})

    def restore(self, entities: Sequence[str], values: dict[str, str]) -> None:
        """Add a turn of which entities and values are known."""
        turn = len(self)
        for name in entities:
            number = self.numbers.setdefault(name, len(self.numbers))
            if number == len(self._first):
                self._first.append(turn)
                self._degrees.append(0)
            else:
                self._later.setdefault(number, array("i")).append(turn)
            self._degrees[number] += 1
            self._entities.append(number)
            self._values.append(values.get(name))
        self._ends.append(len(self._entities))

    def asked(self, question: str) -> list[int]:
        """The entities that a question names, the longest first."""
        return [self.numbers[phrase] for phrase in phrases_of(question) if phrase in self.numbers]

    def turns_of(self, entity: int) -> list[int]:
        """The turns that mention an entity, in order."""
        return [self._first[entity], *self._later.get(entity, ())]

    def versions_of(self, entity: int, among: Iterable[int]) -> list[Version]:
        """What is stated of an entity, by some turns in their order."""
        return [
            Version(turn, value)
            for turn in among
            for mentioned, value in self._stated(turn)
            if mentioned == entity and value is not None
        ]

    def _stated(self, turn: int) -> Iterable[tuple[int, str | None]]:
        """The entities of a turn, each with what is stated of it."""
        span = slice(self._ends[turn - 1] if turn else 0, self._ends[turn])
        return zip(self._entities[span], self._values[span], strict=True)

    def values(self) -> list[str | None]:
        """What is stated of the entity of every mention, in order."""
        return self._values

    def degrees(self) -> Rows:
        """How often each entity is mentioned."""
        return np.array(self._degrees, np.intp)

    def mentions(self) -> tuple[Rows, Ints]:
        """Every mention as its turn and its entity, in order."""
        ends = np.array(self._ends, np.intp)
        turns = np.repeat(np.arange(len(self)), np.diff(ends, prepend=0))
        return turns, np.array(self._entities, np.int32)

    def walk(
        self,
        seeds: Rows,
        weights: Doubles,
        entities: Sequence[int],
        sittings: Rows,
        *,
        damping: float,
        hub_limit: int,
        turns: int | None,
    ) -> Doubles:
        """Personalized PageRank of turns, on the subgraph around some of them.

        Args:
            seeds: Turns to start again at.
            weights: What each weighs.
            entities: Entities to start again at, which together weigh as much as all turns.
            sittings: The session of each turn; those that follow each other in one are joined.
            damping: Chance of following an edge.
            hub_limit: Mentions from which on an entity is not walked through.
            turns: Most turns of the subgraph; none takes the whole graph.

        Returns:
            `(turns of the memory,)`; 0 outside of the subgraph.
        """
        named = [entity for entity in entities if self._degrees[entity] < hub_limit]
        rows = np.arange(len(self)) if turns is None else self._around(seeds, named, hub_limit, turns)
        found = np.zeros(len(self))
        diffusion, numbers = self._subgraph(rows, sittings, hub_limit)
        start = np.zeros(len(diffusion))
        place = np.searchsorted(rows, seeds)
        start[place] += weights / (weights.sum() or 1.0)
        known = [numbers[entity] for entity in named if entity in numbers]
        start[np.array(known, np.intp) + len(rows)] += 1 / max(1, len(known))
        if start.sum():
            found[rows] = diffusion.rank(start, damping=damping, tolerance=1e-6)[: len(rows)]
        return found

    def _around(self, seeds: Rows, entities: Sequence[int], hub_limit: int, most: int) -> Rows:
        """So many turns around some turns and entities, nearest first, in order of their numbers."""
        held = dict.fromkeys(seeds.tolist())
        frontier, waiting = list(held), list(entities)
        met = set(waiting)
        while frontier or waiting:
            near = np.unique(self._walked(np.array(frontier, np.intp), hub_limit)[1])
            waiting += [entity for entity in near.tolist() if entity not in met]
            met.update(waiting)
            frontier = []
            for entity in waiting:
                fresh = [turn for turn in self.turns_of(entity) if turn not in held]
                held |= dict.fromkeys(fresh)
                frontier += fresh
                if len(held) >= most:
                    return np.array(sorted(list(held)[: max(most, len(seeds))]), np.intp)
            waiting = []
        return np.array(sorted(held), np.intp)

    def _of_turns(self, rows: Rows) -> tuple[Rows, Ints]:
        """Every mention of some turns: the place of its turn among them, and its entity."""
        ends = np.frombuffer(self._ends, np.int64)
        starts = np.where(rows > 0, ends[rows - 1], 0)
        counts = ends[rows] - starts
        places = np.repeat(np.arange(len(rows)), counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return places, np.frombuffer(self._entities, np.int32)[starts[places] + within]

    def _walked(self, rows: Rows, hub_limit: int) -> tuple[Rows, Ints]:
        """As `_of_turns`, of the entities that lead anywhere: those that several turns mention, and not too many."""
        places, entities = self._of_turns(rows)
        degrees = np.frombuffer(self._degrees, np.int32)[entities]
        leading = (degrees > 1) & (degrees < hub_limit)
        return places[leading], entities[leading]

    def _subgraph(self, rows: Rows, sittings: Rows, hub_limit: int) -> tuple[Diffusion, dict[int, int]]:
        """The graph of some turns and the entities that several turns mention, and the number of each entity there."""
        turns, entities = self._walked(rows, hub_limit)
        distinct, places = np.unique(entities, return_inverse=True)
        following = np.flatnonzero((np.diff(rows) == 1) & (np.diff(sittings[rows]) == 0))
        mentions = np.stack([turns, places + len(rows)], axis=1)
        edges = np.concatenate([mentions, np.stack([following, following + 1], axis=1)])
        degrees = np.frombuffer(self._degrees, np.int32)[entities].astype(np.float64)
        weights = [1 / np.log1p(degrees), np.full(len(following), _NEXT)]
        numbers = dict(zip(distinct.tolist(), range(len(distinct)), strict=True))
        return Diffusion.of_edges(len(rows) + len(distinct), edges, np.concatenate(weights)), numbers

    def keep(self, turns: Mask, entities: Mask) -> EntityGraph:
        """The graph of the turns and entities that stay, numbered anew in order."""
        names = list(self.numbers)
        kept = EntityGraph()
        for turn in np.flatnonzero(turns).tolist():
            stated = dict(self._stated(turn))
            own = [names[entity] for entity in stated if entities[entity]]
            kept.restore(own, {names[entity]: value for entity, value in stated.items() if value is not None})
        return kept


def _length(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))
