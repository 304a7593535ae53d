"""The turns behind what a context shows, as a recall names them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from memory.protocol import Source


def sources(shown: Iterable[tuple[Sequence[str], float]]) -> tuple[Source, ...]:
    """The turns behind texts, given with their scores as they are shown; a turn has the score of its first text."""
    first: dict[str, float] = {}
    for turns, score in shown:
        for turn in turns:
            first.setdefault(turn, score)
    return tuple(Source(turn, score) for turn, score in first.items())
