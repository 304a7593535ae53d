"""The base of systems that score every turn, or every session, for a question, and rank turns by that."""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Self, TypeVar

import numpy as np
import pyarrow as pa

from memory.conversation import Query, Session
from memory.extraction import Extraction
from memory.forgetting.states import Mask
from memory.models import Vectors
from memory.protocol import Models, Recall
from memory.ranking import best_first, best_groups_first
from memory.systems.keeping import RankingSettings, TurnRanker
from memory.systems.turns import StoredTurn
from memory.vectors import Doubles, Rows

Unit = Literal["turn", "session"]
"""What is a document of a search: a turn, or all turns of a session together."""

R = TypeVar("R", bound=RankingSettings)


@dataclass(frozen=True, slots=True)
class Scores:
    """What a search found.

    Attributes:
        turns: The score of each turn, higher is better.
        sessions: That of each session, where sessions are ranked: turns then follow their sessions, and their own
            scores say only which comes first inside one.
        flags: As `Recall.flags`.
    """

    turns: Vectors | Doubles
    sessions: Vectors | Doubles | None = None
    flags: tuple[str, ...] = ()


class Sittings:
    """Which session each turn is of, sessions numbered from 0 in the order they are first met.

    A session may come in pieces, and its benchmark's id may recur in its history: it is told by the turns' ids.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}
        self._of_turns = array("q")

    def add(self, turns: Sequence[StoredTurn]) -> None:
        """Add turns."""
        for held in turns:
            sitting = held.turn.id.rpartition(".")[0]
            self._of_turns.append(self._numbers.setdefault(sitting, len(self._numbers)))

    @property
    def of_turns(self) -> Rows:
        """The session's number of each turn, as a copy."""
        return np.array(self._of_turns, np.intp)


class TurnSearcher(TurnRanker[R]):
    """Ranks its turns by what `search` finds; equal ones in the order of the memory."""

    def __init__(self, settings: R, models: Models) -> None:
        super().__init__(settings, models)
        self.sittings = Sittings()

    def search(self, question: str) -> Scores:
        """The scores of all turns, and of all sessions where these are ranked."""
        raise NotImplementedError

    def found(self, query: Query) -> Scores:
        """As `search`; a system that reads more of a question than its words does so here."""
        return self.search(query.text)

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session."""
        known = len(self.turns)
        super().remember(session, extractions)
        self.sittings.add(self.turns[known:])

    def keep(self, kept: Mask) -> None:
        """Drop all turns but those of a mask."""
        super().keep(kept)
        self.sittings = Sittings()
        self.sittings.add(self.turns)

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: R, models: Models) -> Self:
        """The memory of a table `turns`."""
        system = super().from_tables(tables, settings, models)
        system.sittings.add(system.turns)
        return system

    def recall(self, query: Query) -> Recall:
        """The best turns, best first."""
        return self.recall_within(query, [self.settings.max_words])[0]

    def recall_within(self, query: Query, sizes: Sequence[int | None]) -> list[Recall]:
        """As `recall`, for each number of words; none: as the other settings say."""
        if not self.turns:
            return [Recall("", (), 0) for _ in sizes]
        found = self.found(query)
        few = set(sizes) == {None} and self.settings.budget_tokens is None
        order = self._order(found, self.least if few else len(self.turns))
        scores = found.turns if found.sessions is None else found.sessions[self.sittings.of_turns]
        ranking = list(zip(order.tolist(), scores[order].tolist(), strict=True))
        return [self.recalled(ranking, words, found.flags) for words in sizes]

    def _order(self, found: Scores, count: int) -> Rows:
        """The best turns, best first."""
        if found.sessions is None:
            return best_first(found.turns, count)
        return best_groups_first(found.sessions, self.sittings.of_turns, found.turns, count)
