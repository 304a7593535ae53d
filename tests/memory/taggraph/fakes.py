"""Notes and replies written by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

from memory.prompts.five_ws import SLOTS
from memory.taggraph.graph import TagGraph
from memory.taggraph.notes import NO_TAGS, Note
from memory.taggraph.settings import TagGraphSettings
from memory.taggraph.vocabulary import Vocabulary

MAY_20 = date(2023, 5, 20)


def note(place: int, session: int = 0, day: date | None = MAY_20, **tags: Sequence[str]) -> Note:
    return Note(f"h#{session}.{place}", session, day, {**NO_TAGS, **{s: tuple(v) for s, v in tags.items()}})


def graph(notes: Sequence[Note], **changes: Any) -> TagGraph:
    settings = TagGraphSettings(**{"normalisation": "casefold", **changes})
    return TagGraph(notes, settings, Vocabulary(settings.normalisation))


def words(*asked: str) -> dict[str, frozenset[str]]:
    """A question's words, for tags of any slot."""
    return dict.fromkeys(SLOTS, frozenset(asked))


def reply(**tags: Any) -> str:
    return json.dumps({slot: tags.get(slot, []) for slot in SLOTS})


def by_tag(made: TagGraph, seeds: Any) -> Mapping[tuple[str, str], float]:
    return {
        (slot, " ".join(value)): float(seeds[row]) for (slot, value), row in made.tags.items() if seeds[row]
    }
