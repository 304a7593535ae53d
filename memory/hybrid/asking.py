"""What a question asks for, read from its words alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from typing import Literal

from memory.hybrid.windows import Window, window_of

Kind = Literal["assistant", "update", "time", "other"]
"""What the assistant has said; how things are now; when or in which order things were; anything else."""

_SAID = (
    "told|said|gave|recommended|suggested|mentioned|listed|explained|provided|advised|wrote|shared|described"
)
_CUES: tuple[tuple[Kind, re.Pattern[str]], ...] = (
    (
        "assistant",
        re.compile(
            rf"\b(?:you(?:'d| had| have|'ve)? (?:just |also |previously |earlier )?(?:{_SAID})|remind me|"
            rf"did you (?:say|tell|recommend|suggest|mention)|"
            r"our (?:previous|last|earlier|past) (?:conversation|chat|discussion))\b"
        ),
    ),
    (
        "update",
        re.compile(
            r"\b(?:now|currently|current|newest|latest|most recent|most recently|at the moment|these days|nowadays|"
            r"so far|still|any ?more|right now|to date|up to date)\b"
        ),
    ),
    (
        "time",
        re.compile(
            r"\b(?:when|what (?:date|day|month|year)|how long|how many (?:days|weeks|months|years)|ago|since|before|"
            r"after|first|earlier|earliest|later|in (?:what|which) order|the order of)\b"
        ),
    ),
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question as the hybrid reads it.

    Attributes:
        text: The question.
        words: What is searched by words: the question without the time that `window` holds.
        kind: What it asks for.
        window: The time that it names, if any.
    """

    text: str
    words: str
    kind: Kind
    window: Window | None


def read(question: str, day: date | None, *, dates: bool) -> Asked:
    """Read a question.

    Args:
        question: Its text.
        day: When it is asked; without a day no time can be reckoned.
        dates: Whether the time that it names is looked for at all.
    """
    window = window_of(question, day) if dates and day else None
    words = window.rest if window and window.rest else question
    return Asked(question, words, kind_of(question), window)


def kind_of(question: str) -> Kind:
    """What a question asks for, by the first of the kinds that its words speak for."""
    text = question.lower()
    return next((kind for kind, cue in _CUES if cue.search(text)), "other")


def names(question: str, speaker: str) -> bool:
    """Whether a question names a speaker, by the whole name or its first word."""
    text = question.lower()
    return any(
        re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text)
        for name in {speaker.lower(), speaker.lower().partition(" ")[0]}
        if name
    )
