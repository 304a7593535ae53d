"""The bases of systems that keep whole turns and use no extraction."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import compress
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import pyarrow as pa
from pydantic import Field, model_validator

from memory.conversation import Session, Turn
from memory.extraction import Extraction
from memory.forgetting.closing import check_open, close_turns
from memory.forgetting.retention import RetentionSettings
from memory.forgetting.states import Mask
from memory.models import Vectors
from memory.packing import BudgetSettings, cost, fitted
from memory.protocol import Models, Recall, Size, Source
from memory.systems.turns import RULE, StoredTurn, TextForm, from_table, stored, text_bytes, to_table


class TurnSettings(BudgetSettings, RetentionSettings):
    """Settings of every system that keeps turns and shows them."""

    text: TextForm = "raw"
    """How a turn is indexed and shown; a conversation between named people needs `spoken`."""
    show_dates: bool = True
    """Whether the context shows each turn's session date."""


class RankingSettings(TurnSettings):
    """Settings of every system that ranks turns."""

    k: int = Field(5, ge=1)
    """How many turns the context shows, unless `max_words` or `budget_tokens` says how much."""
    max_words: int | None = Field(None, ge=1)
    """Most words of the context: it takes turns, best first, and ends before the first that does not fit."""
    ranked: int = Field(50, ge=1)
    """How many turns the provenance ranks at least. Evidence further down counts as not found: on LoCoMo that
    lowers MRR by .002."""

    @model_validator(mode="after")
    def _one_unit(self) -> Self:
        if self.max_words is not None and self.budget_tokens is not None:
            raise ValueError("max_words and budget_tokens both bound the context: give one of them")
        return self


RANKING_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {"show_dates": False},
    "improved": {},
    "tuned": {"text": "dated", "max_words": 1000},
}
"""`tuned` is the RAG baseline of GAAMA: turns with date and caption, 1,000 words (facts on GAAMA, section 10)."""

R = TypeVar("R", bound=RetentionSettings)
S = TypeVar("S", bound=TurnSettings)
K = TypeVar("K", bound=RankingSettings)


class TurnStore(Generic[R]):
    """Keeps the turns it is given, in the order it is given them; what it forgets, it forgets after the last."""

    needs_extractions: ClassVar[bool] = False
    asks: ClassVar[frozenset[str]] = frozenset()
    sees_evidence: ClassVar[bool] = False

    def __init__(self, settings: R, models: Models) -> None:
        self.settings = settings
        self.models = models
        self.turns: list[StoredTurn] = []
        self.closed = False

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session.

        Raises:
            BadInput: If the memory has forgotten already.
        """
        check_open(self.settings, closed=self.closed)
        self.turns += stored(session)

    def finish(self) -> None:
        """Forget, if the settings name a policy; once."""
        if not self.closed:
            close_turns(self, self.settings)
        self.closed = True

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """Nothing is embedded."""
        return []

    def embedded(self) -> tuple[Sequence[int], Vectors]:
        """Nothing is embedded; see `memory.forgetting.passes.KeepsTurns`."""
        return [], np.zeros((0, 0), np.float32)

    def keep(self, kept: Mask) -> None:
        """Drop all turns but those of a mask `(turns,)`."""
        self.turns = list(compress(self.turns, kept))

    def size(self) -> Size:
        """Turns, and the bytes of their texts."""
        return Size(len(self.turns), 0, text_bytes(self.turns))

    def tables(self) -> dict[str, pa.Table]:
        """The table `turns`."""
        return {"turns": to_table(self.turns)}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: R, models: Models) -> Self:
        """The memory of a table `turns`; where the settings name a policy, it has forgotten."""
        system = cls(settings, models)
        system.turns = from_table(tables["turns"])
        system.closed = bool(settings.retention)
        return system


class TurnKeeper(TurnStore[S]):
    """Shows the turns that it keeps."""

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"published": {"show_dates": False}, "improved": {}}

    def __init__(self, settings: S, models: Models) -> None:
        super().__init__(settings, models)
        self._costs: dict[str, int] = {}

    def standing_on(self, turn: Turn) -> list[str]:
        """The turn as it is shown, if it is kept."""
        return self.shown([held for held in self.turns if held.turn.id == turn.id])

    def shown(self, turns: Sequence[StoredTurn]) -> list[str]:
        """Turns as the context shows them."""
        return [held.shown(self.settings.text, date=self.settings.show_dates) for held in turns]

    def fitted(self, turns: Sequence[StoredTurn], budget: int | None) -> list[StoredTurn]:
        """Those of some turns, best first, that a budget of tokens takes; all, where there is none."""
        return list(turns) if budget is None else fitted(turns, self._costs_of(turns), budget)

    def _costs_of(self, turns: Sequence[StoredTurn]) -> Iterator[int]:
        """What each turn costs; counted once, as a ranking of the whole history is filled in for every question."""
        for held in turns:
            if held.turn.id not in self._costs:
                self._costs[held.turn.id] = cost(self.shown([held])[0], self.settings.entry_tokens)
            yield self._costs[held.turn.id]


class TurnRanker(TurnKeeper[K]):
    """Shows the best of the turns that it keeps."""

    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = RANKING_PROFILES

    @property
    def least(self) -> int:
        """How many turns are ranked at least."""
        return max(self.settings.k, self.settings.ranked)

    def recalled(
        self, ranking: Sequence[tuple[int, float]], words: int | None, flags: tuple[str, ...] = ()
    ) -> Recall:
        """A ranking of turns, by position and with scores, as a context of so many words; none: as the settings say.

        The provenance ranks at least `least` turns, and all up to the last that is shown.
        """
        turns = [self.turns[position] for position, _ in ranking]
        taken = self._best(turns, words)
        shown = tuple(held.turn.id for held in taken)
        place = {held.turn.id: number for number, held in enumerate(turns, 1)}
        listed = max(self.least, place[shown[-1]] if shown else 0)
        return Recall(
            context=RULE.join(self.shown(taken)),
            provenance=tuple(
                Source(held.turn.id, score)
                for held, (_, score) in zip(turns[:listed], ranking[:listed], strict=True)
            ),
            items=len(taken),
            shown=shown,
            flags=flags,
        )

    def _best(self, turns: Sequence[StoredTurn], words: int | None) -> list[StoredTurn]:
        """The turns that the context shows, of all, best first."""
        if words is not None:
            return self._within(turns, words)
        if self.settings.budget_tokens is not None:
            return self.fitted(turns, self.settings.budget_tokens)
        return list(turns[: self.settings.k])

    def _within(self, turns: Sequence[StoredTurn], words: int) -> list[StoredTurn]:
        """The first turns, as many as a number of words holds."""
        for number, held in enumerate(turns):  # one by one: a ranking may have every turn of a large store
            words -= len(self.shown([held])[0].split())
            if words < 0:
                return list(turns[:number])
        return list(turns)
