"""How full the slots of notes are: an arm that walks slots which the extractor hardly fills tells nothing."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from memory.taggraph.notes import Note

LEAST_FILLED = 0.2
"""An arm is marked as not evaluated if a smaller share of the notes has a tag in the slots that it walks."""


def filled(notes: Sequence[Note], slots: Collection[str]) -> float:
    """The share of notes, blank turns apart, that have a tag in at least one of the slots; 0 without notes."""
    asked = [note for note in notes if note.status != "blank"]
    return sum(any(note.tags[slot] for slot in slots) for note in asked) / len(asked) if asked else 0.0
