"""What the hybrid forgets first: what is derived, then vectors, and verbatim turns last, by evidence of use."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memory.vectors import Doubles, Mask, Rows


@dataclass(frozen=True, slots=True)
class Holdings:
    """What a memory holds, by what it takes and how it is used.

    Attributes:
        entities: Bytes of each entity: its name, mentions and values.
        entity_uses: How often turns that mention it were recalled.
        mentions: How often each entity is mentioned.
        vectors: Bytes of each turn's vector; 0 where it has none.
        turns: Bytes of each turn's text and words.
        uses: How often each turn was recalled.
        links: Entities of each turn that other turns mention, too.
    """

    entities: Rows
    entity_uses: Rows
    mentions: Rows
    vectors: Rows
    turns: Rows
    uses: Rows
    links: Rows


@dataclass(frozen=True, slots=True)
class Kept:
    """Which entities, which turns' vectors, and which turns stay."""

    entities: Mask
    vectors: Mask
    turns: Mask


def chosen(held: Holdings, excess: int) -> Kept:
    """What stays so that at least so many bytes go.

    Entities go first, the least used and least mentioned before others; then vectors, of turns that are least used and
    linked; then turns, the least used before others, among these those with the fewest links for their bytes. Equal
    ones go oldest first.
    """
    density = held.links / np.maximum(held.turns, 1)
    entities, excess = _cut(held.entities, np.lexsort((held.mentions, held.entity_uses)), excess)
    vectors, excess = _cut(held.vectors, np.lexsort((held.links, held.uses)), excess)
    turns, _ = _cut(held.turns, np.lexsort((density, held.uses)), excess)
    return Kept(entities, vectors, turns)


def _cut(sizes: Rows | Doubles, order: Rows, excess: int) -> tuple[Mask, int]:
    """Which stay if they go in an order until so many bytes have, and how many bytes have to go still."""
    kept = np.ones(len(sizes), np.bool_)
    if excess <= 0 or not len(sizes):
        return kept, max(0, excess)
    freed = np.cumsum(sizes[order])
    count = min(int(np.searchsorted(freed, excess)) + 1, len(order))
    kept[order[:count]] = False
    return kept, max(0, excess - int(freed[count - 1]))
