"""A third party's memory: it ranks turns by the words that they share with the question, the latest first."""

from __future__ import annotations

from typing import ClassVar

import pyarrow as pa
from pydantic import BaseModel

from memory.protocol import Recall, Size, Source


class RecencySettings(BaseModel):
    shown: int = 5
    ranked: int = 50
    """How many turns the provenance ranks; the ranking study raises it to all."""


class RecentWords:
    Settings = RecencySettings
    profiles: ClassVar = {"published": {}}
    needs_extractions = False
    asks = frozenset()
    sees_evidence = False

    def __init__(self, settings, models):
        self.settings = settings
        self.turns = []

    def remember(self, session, extractions):
        self.turns += [(turn.id, turn.text) for turn in session.turns]

    def recall(self, query):
        asked = set(query.text.lower().split())
        scored = [
            (len(asked & set(text.lower().split())), place) for place, (_, text) in enumerate(self.turns)
        ]
        best = sorted(scored, reverse=True)[: max(self.settings.shown, self.settings.ranked)]
        shown = [self.turns[place][1] for _, place in best[: self.settings.shown]]
        provenance = tuple(Source(self.turns[place][0], score) for score, place in best)
        return Recall("\n".join(shown), provenance, items=len(shown), shown=len(shown))

    def texts(self, session, extractions):
        return []

    def size(self):
        return Size(len(self.turns), 0, sum(len(text.encode()) for _, text in self.turns))

    def tables(self):
        return {"turns": pa.table({"id": [i for i, _ in self.turns], "text": [t for _, t in self.turns]})}

    @classmethod
    def from_tables(cls, tables, settings, models):
        memory = cls(settings, models)
        memory.turns = [(row["id"], row["text"]) for row in tables["turns"].to_pylist()]
        return memory
