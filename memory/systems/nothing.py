"""`none`: remembers nothing. What a system scores beyond this, it owes to its memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel, ConfigDict

from memory.conversation import Query, Session, Turn
from memory.extraction import Extraction
from memory.protocol import Models, Recall, Size


class NoSettings(BaseModel):
    """Nothing to set."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class NoMemory:
    """The lower bound."""

    Settings: ClassVar[type[BaseModel]] = NoSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = {"published": {}, "improved": {}}
    needs_extractions: ClassVar[bool] = False
    asks: ClassVar[frozenset[str]] = frozenset()
    sees_evidence: ClassVar[bool] = False

    def __init__(self, settings: NoSettings, models: Models) -> None:
        self.settings = settings

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Forget at once."""

    def recall(self, query: Query) -> Recall:
        """Nothing."""
        return Recall(context="", provenance=(), items=0)

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """Nothing is embedded."""
        return []

    def standing_on(self, turn: Turn) -> list[str]:
        """Nothing."""
        return []

    def size(self) -> Size:
        """Zero."""
        return Size(0, 0, 0)

    def tables(self) -> dict[str, pa.Table]:
        """No tables."""
        return {}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: NoSettings, models: Models) -> Self:
        """A new one."""
        return cls(settings, models)
