"""Greedy packing under a budget of tokens, and the context that comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from memory.packing import fitting
from memory.rdforget.materialise import Entry


def packed(entries: Sequence[Entry], budget: int, constant: int) -> list[Entry]:
    """The entries that fit, in order; `constant` is for their id, status and line end. See `memory.packing`."""
    return [entries[place] for place in fitting([entry.statement for entry in entries], budget, constant)]


def rendered(entries: Sequence[Entry]) -> str:
    """The context: each entry on one line, with its id and its status."""
    return "\n".join(f"[{entry.id} {entry.status}] {entry.statement}" for entry in entries)
