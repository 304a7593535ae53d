"""The lines of a history, numbered so that a model can name them, and the chunks that it reads them in."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from memory import tokens
from memory.prompts.material import flat
from memory.systems.turns import StoredTurn

_LINE_ID = re.compile(r"\bL\d{1,9}\b")


@dataclass(frozen=True, slots=True)
class Line:
    """A line of the source history: one of a turn's that is not blank.

    Attributes:
        id: `L` and its place in the history, from 1.
        text: Date and speaker of its turn, and the line's words.
        turn: Its turn's id.
    """

    id: str
    text: str
    turn: str


def source_lines(turns: Iterable[StoredTurn]) -> list[Line]:
    """The lines of turns in order of time; turns without a date come first, equal ones stay in the memory's order."""
    ordered = sorted(turns, key=lambda held: held.time.timestamp() if held.time else float("-inf"))
    said = [(held, part) for held in ordered for part in _parts(held)]
    return [Line(f"L{place}", text, held.turn.id) for place, (held, text) in enumerate(said, 1)]


def _parts(held: StoredTurn) -> list[str]:
    date = f"[{held.time.date().isoformat()}] " if held.time else ""
    caption = [f"[{held.turn.caption}]"] if held.turn.caption else []
    return [
        f"{date}{held.turn.speaker}: {flat(part)}"
        for part in [*held.turn.text.splitlines(), *caption]
        if part.strip()
    ]


def chunked(lines: Sequence[Line], limit: int) -> list[list[Line]]:
    """Lines in chunks of at most `limit` tokens, ids counted; a line that takes more is a chunk of its own."""
    chunks: list[list[Line]] = []
    left = 0
    for line in lines:
        size = tokens.count(f"[{line.id}] {line.text}\n")
        if not chunks or size > left:
            chunks.append([])
            left = limit
        chunks[-1].append(line)
        left -= size
    return chunks


def named(source: str, lines: Sequence[Line]) -> list[Line]:
    """The lines whose ids a model has written, such as `L3, L7`; ids of other lines are passed over."""
    ids = set(_LINE_ID.findall(source))
    return [line for line in lines if line.id in ids]


def turns_of(lines: Iterable[Line]) -> tuple[str, ...]:
    """The turns that lines are of, each once, in their order."""
    return tuple(dict.fromkeys(line.turn for line in lines))
