"""The base of systems that keep whole turns and use no extraction."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Generic, Self, TypeVar

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field

from memory.conversation import Session, Turn
from memory.extraction import Extraction
from memory.protocol import Models, Size
from memory.systems.turns import StoredTurn, TextForm, from_table, stored, text_bytes, to_table


class TurnSettings(BaseModel):
    """Settings of every system that keeps turns."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    text: TextForm = "raw"
    """How a turn is indexed and shown; a conversation between named people needs `spoken`."""
    show_dates: bool = True
    """Whether the context shows each turn's session date."""


class RankingSettings(TurnSettings):
    """Settings of every system that ranks turns."""

    k: int = Field(5, ge=1)
    """How many turns the context shows, unless `max_words` says how many words."""
    max_words: int | None = Field(None, ge=1)
    """Most words of the context: it takes turns, best first, and ends before the first that does not fit."""
    ranked: int = Field(50, ge=1)
    """How many turns the provenance ranks at least. Evidence further down counts as not found: on LoCoMo that
    lowers MRR by .002."""


RANKING_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {"show_dates": False},
    "improved": {},
    "tuned": {"text": "dated", "max_words": 1000},
}
"""`tuned` is the RAG baseline of GAAMA: turns with date and caption, 1,000 words (facts on GAAMA, section 10)."""

S = TypeVar("S", bound=TurnSettings)


class TurnKeeper(Generic[S]):
    """Keeps the turns it is given, in the order it is given them."""

    needs_extractions: ClassVar[bool] = False
    asks: ClassVar[frozenset[str]] = frozenset()
    sees_evidence: ClassVar[bool] = False
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"published": {"show_dates": False}, "improved": {}}

    def __init__(self, settings: S, models: Models) -> None:
        self.settings = settings
        self.models = models
        self.turns: list[StoredTurn] = []

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session."""
        self.turns += stored(session)

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """Nothing is embedded."""
        return []

    def standing_on(self, turn: Turn) -> list[str]:
        """The turn as it is shown, if it is kept."""
        return self.shown([held for held in self.turns if held.turn.id == turn.id])

    def size(self) -> Size:
        """Turns, and the bytes of their texts."""
        return Size(len(self.turns), 0, text_bytes(self.turns))

    def tables(self) -> dict[str, pa.Table]:
        """The table `turns`."""
        return {"turns": to_table(self.turns)}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: S, models: Models) -> Self:
        """The memory of a table `turns`."""
        system = cls(settings, models)
        system.turns = from_table(tables["turns"])
        return system

    def best(self, order: Sequence[int], k: int, words: int | None) -> list[str]:
        """The first turns of a ranking as a context shows them: `k` of them, or as many as a number of words holds."""
        if words is None:
            return self.shown([self.turns[position] for position in order[:k]])
        texts = []
        for position in order:  # one by one: a ranking may have every turn of a large store
            (text,) = self.shown([self.turns[position]])
            words -= len(text.split())
            if words < 0:
                break
            texts.append(text)
        return texts

    def shown(self, turns: list[StoredTurn]) -> list[str]:
        """Turns as the context shows them."""
        return [held.shown(self.settings.text, date=self.settings.show_dates) for held in turns]
