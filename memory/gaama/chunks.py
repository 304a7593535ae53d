"""Turns as events, and events as chunks (facts, section 4.0)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memory.conversation import Session, Turn


@dataclass(frozen=True, slots=True)
class Event:
    """A turn as an episode keeps it.

    Attributes:
        turn: Its id.
        session: Its session's id.
        time: Its session's date.
        speaker: Who speaks.
        text: Date, speaker and words, verbatim.
        first: Whether it is the first of its session.
    """

    turn: str
    session: str
    time: datetime | None
    speaker: str
    text: str
    first: bool

    @property
    def words(self) -> int:
        """Words of speaker and text, by which chunks are filled."""
        return len(self.speaker.split()) + len(self.text.split())


def events(session: Session, *, captions: bool) -> list[Event]:
    """The turns of a session that say something, as events; with captions, an image alone says something, too."""
    said = [turn for turn in session.turns if turn.text.strip() or (captions and turn.caption)]
    return [
        Event(
            turn.id,
            session.id,
            session.date,
            turn.speaker,
            _text(turn, session.date, captions),
            position == 0,
        )
        for position, turn in enumerate(said)
    ]


def _text(turn: Turn, date: datetime | None, captions: bool) -> str:
    caption = f" [{turn.caption}]" if captions and turn.caption else ""
    return f"{stamp(date)}{turn.speaker}: {turn.text}{caption}"


def stamp(date: datetime | None) -> str:
    """A session's date in brackets, in as many words as LoCoMo's file gives it; nothing where there is none."""
    if date is None:
        return ""
    half = "am" if date.hour < 12 else "pm"
    return f"[{date.hour % 12 or 12}:{date:%M} {half} on {date.day} {date:%B}, {date.year}] "


def full_chunks(waiting: list[Event], words: int) -> tuple[list[list[Event]], list[Event]]:
    """The chunks that are full, and the events that still wait: a chunk is full when the next event does not fit.

    An event that is longer than a chunk is a chunk of its own.
    """
    chunks: list[list[Event]] = []
    chunk: list[Event] = []
    filled = 0
    for event in waiting:
        if chunk and filled + event.words > words:
            chunks.append(chunk)
            chunk, filled = [], 0
        chunk.append(event)
        filled += event.words
    return chunks, chunk
