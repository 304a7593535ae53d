"""What a context shows beside the best turns, by what the question asks for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory.hybrid.graph import EntityGraph, Ints, Version
from memory.vectors import Mask, Rows


def versions(graph: EntityGraph, question: str, pool: Sequence[int], days: Ints) -> list[int]:
    """The turn with the newest value of what a question names, and the turn with the value before that one.

    Of the entities that the question names and that a turn of the pool states a value of, the longest counts, and of
    equally long ones the one that the fewest turns mention.

    Args:
        graph: The entities.
        question: The question.
        pool: Turns on its subject.
        days: The day of each turn as an ordinal; 0 for none.

    Returns:
        No turn, one, or two, the newest first.
    """
    for entity in graph.asked(question):
        stated = graph.versions_of(entity, pool)
        if stated:
            return _newest_two(sorted(stated, key=lambda v: (days[v.turn], v.turn), reverse=True))
    return []


def _newest_two(stated: Sequence[Version]) -> list[int]:
    newest = stated[0]
    before = next((v.turn for v in stated if v.value != newest.value and v.turn != newest.turn), None)
    return [newest.turn] if before is None else [newest.turn, before]


def around(best: Sequence[int], sittings: Rows, people: Mask) -> list[int]:
    """The distinct turns that a person said just before and after some turns, in their sessions."""
    said = np.flatnonzero(people)
    found: dict[int, None] = {}
    for turn in best:
        before, after = np.searchsorted(said, turn) - 1, np.searchsorted(said, turn, side="right")
        near = [int(said[place]) for place in (before, after) if 0 <= place < len(said)]
        found |= dict.fromkeys(place for place in near if sittings[place] == sittings[turn])
    return list(found)


def first_of_assistant(pool: Sequence[int], people: Mask) -> list[int]:
    """The best turn of the pool that an assistant said, if there is one."""
    return [turn for turn in pool if not people[turn]][:1]


def in_order_of_time(turns: Sequence[int], days: Ints) -> list[int]:
    """Turns by day, those of one day as they were said."""
    return sorted(turns, key=lambda turn: (int(days[turn]), turn))
