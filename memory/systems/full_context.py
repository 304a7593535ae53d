"""`full_context`: shows the whole history, up to a budget of tokens."""

from __future__ import annotations

from typing import ClassVar

from pydantic import BaseModel, Field

from memory import tokens
from memory.conversation import Query
from memory.protocol import Recall, Source
from memory.systems.keeping import TurnKeeper, TurnSettings
from memory.systems.turns import StoredTurn


class FullContextSettings(TurnSettings):
    """Settings of the full context."""

    max_tokens: int = Field(100_000, ge=0)
    """Budget for the context in o200k tokens; the model's window less its instructions, question and
    answer. `budget_tokens` stands in its place."""


class FullContext(TurnKeeper[FullContextSettings]):
    """Everything that fits, in order of time; the oldest turns that do not fit are left out.

    Under a budget of tokens the newest are taken first, and one that does not fit is passed over for older ones.
    """

    Settings: ClassVar[type[BaseModel]] = FullContextSettings

    def recall(self, query: Query) -> Recall:
        """All turns, or the newest that fit; without dates, the last that were remembered are the newest."""
        ordered = sorted(self.turns, key=lambda held: held.time.timestamp() if held.time else 0.0)
        kept = self._newest(ordered) if self.settings.budget_tokens is None else self._fitted(ordered)
        return Recall(
            context="\n\n".join(self.shown(kept)),
            provenance=tuple(Source(held.turn.id, 1.0) for held in kept),
            items=len(kept),
            flags=("context_cut",) if len(kept) < len(ordered) else (),
        )

    def _fitted(self, ordered: list[StoredTurn]) -> list[StoredTurn]:
        return self.fitted(ordered[::-1], self.settings.budget_tokens)[::-1]

    def _newest(self, ordered: list[StoredTurn]) -> list[StoredTurn]:
        budget = self.settings.max_tokens
        for position in range(len(ordered) - 1, -1, -1):
            # The blank line between turns costs at most one token more than the turns alone.
            budget -= tokens.count(self.shown(ordered[position : position + 1])[0]) + 1
            if budget < 0:
                return ordered[position + 1 :]
        return ordered
