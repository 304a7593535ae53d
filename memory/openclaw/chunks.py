"""Cutting a transcript into overlapping chunks, as OpenClaw cuts its files (src/memory/internal.ts, chunkMarkdown)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

CHARACTERS = 4
"""Characters that count as a token."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a transcript.

    Attributes:
        text: Its lines, or the piece of a line that is longer than a chunk.
        first: The number of its first line.
        last: That of its last line, which is in it as well.
    """

    text: str
    first: int
    last: int


def chunked(lines: Sequence[str], tokens: int, overlap: int) -> list[Chunk]:
    """Chunks of a transcript, each line in one at least.

    Lines are taken whole until the next would make the chunk too long; only a line that is longer than a chunk is cut.
    A chunk begins with the last lines of the one before, as many as are needed to reach the overlap.

    Args:
        lines: One a turn.
        tokens: Most tokens of a chunk. It is passed where a piece of a long line follows an overlap, as in OpenClaw.
        overlap: Tokens of the overlap; 0 for none.
    """
    most = tokens * CHARACTERS
    chunks: list[Chunk] = []
    current: list[tuple[int, str]] = []
    for number, piece in _pieces(lines, most):
        if current and _length(current) + len(piece) + 1 > most:
            chunks.append(_chunk(current))
            current = _tail(current, overlap * CHARACTERS)
        current.append((number, piece))
    return [*chunks, _chunk(current)] if current else chunks


def _pieces(lines: Sequence[str], most: int) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(lines):
        for start in range(0, max(len(line), 1), most):
            yield number, line[start : start + most]


def _length(pieces: Sequence[tuple[int, str]]) -> int:
    return sum(len(piece) + 1 for _, piece in pieces)


def _tail(pieces: list[tuple[int, str]], least: int) -> list[tuple[int, str]]:
    """The last pieces that together reach a number of characters."""
    for start in range(len(pieces), -1, -1):
        if _length(pieces[start:]) >= least:
            return pieces[start:]
    return pieces


def _chunk(pieces: Sequence[tuple[int, str]]) -> Chunk:
    return Chunk("\n".join(piece for _, piece in pieces), pieces[0][0], pieces[-1][0])
