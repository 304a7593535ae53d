"""Greedy packing under a budget of tokens, and the context that comes of it."""

from __future__ import annotations

from collections.abc import Sequence

from memory import tokens
from memory.rdforget.materialise import Entry


def cost(entry: Entry, constant: int) -> int:
    """c(m): o200k tokens of what an entry says, and a constant for its id, status and line end."""
    return tokens.count(entry.statement) + constant


def packed(entries: Sequence[Entry], budget: int, constant: int) -> list[Entry]:
    """The entries that fit, in order; one that does not fit into what is left is passed over."""
    taken = []
    for entry in entries:
        size = cost(entry, constant)
        if size <= budget:
            taken.append(entry)
            budget -= size
    return taken


def rendered(entries: Sequence[Entry]) -> str:
    """The context: each entry on one line, with its id and its status."""
    return "\n".join(f"[{entry.id} {entry.status}] {entry.statement}" for entry in entries)
