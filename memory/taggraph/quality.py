"""Notes made worse on purpose: extraction quality as an axis.

Which tags suffer follows from the seed, the turn's id, the slot and the tag's place alone, so it is the same for every
system; and what is dropped at one rate is dropped at every higher one, so that a curve rests on the same draws.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b

from memory.prompts.five_ws import SLOTS
from memory.taggraph.notes import Note

_BITS = 53
"""As many as a float holds exactly, so that a draw never rounds up to 1."""


def worsened(notes: Sequence[Note], drop: float, corrupt: float, seed: int) -> list[Note]:
    """Notes with a share `drop` of their tags dropped, and a share `corrupt` of the rest replaced.

    A corrupted tag is another value that the notes have in its slot: a wrong tag that looks right, and that joins the
    note to others which it has nothing to do with. Where a slot has one value in all, the tag is dropped instead.
    """
    if not drop and not corrupt:
        return list(notes)
    pools = {slot: sorted({tag for note in notes for tag in note.tags[slot]}) for slot in SLOTS}
    return [replace(note, tags=_tags(note, pools, drop, corrupt, seed)) for note in notes]


def _tags(
    note: Note, pools: dict[str, list[str]], drop: float, corrupt: float, seed: int
) -> dict[str, tuple[str, ...]]:
    kept: dict[str, tuple[str, ...]] = {}
    for slot in SLOTS:
        found: dict[str, None] = {}
        for place, tag in enumerate(note.tags[slot]):
            dropped, corrupted, choice = (
                _draw(seed, note.turn, slot, place, use) for use in ("drop", "corrupt", "choice")
            )
            if dropped < drop:
                continue
            if corrupted >= corrupt:
                found[tag] = None
            elif other := _other(pools[slot], tag, choice):
                found[other] = None
        kept[slot] = tuple(found)
    return kept


def _other(pool: list[str], tag: str, choice: float) -> str | None:
    """A value of the pool that is not the tag."""
    if len(pool) < 2:
        return None
    found = pool[int(choice * len(pool))]
    return found if found != tag else pool[pool.index(tag) - 1]


def _draw(seed: int, turn: str, slot: str, place: int, use: str) -> float:
    """A number from 0 up to 1 that follows from its arguments."""
    text = f"{seed}\0{turn}\0{slot}\0{place}\0{use}".encode("utf-8", "surrogatepass")
    drawn = int.from_bytes(blake2b(text, digest_size=8).digest(), "big") >> (64 - _BITS)
    return float(drawn / (1 << _BITS))
