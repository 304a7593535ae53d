"""What a question says of time and speaker, and the boosts that follow.

Relevance is multiplied by 1.4 for time, 1.4 for role and up to 1.2 for confidence (facts on GAAMA, section 14 [S]).
When a boost applies is open; each rule here is ours, and stands at its function.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import date, datetime

from memory.dates import Resolved, resolve
from memory.gam.graph import Utterance
from memory.gam.settings import GamSettings

_WORD = re.compile(r"\w+")
_VERBS = re.compile(r"\b(?:may|march)\b")  # in lower case, which no month is written in
_OWN = re.compile(r"\b(?:i|i'm|i've|i'd|me|my|mine)\b", re.IGNORECASE)
_YOURS = re.compile(r"\b(?:you|your|yours)\b", re.IGNORECASE)
_NEAR_DAYS = 7
"""How far from a rough day, such as that of "last week", an utterance may be."""


class Cues:
    """What a question says of the utterances that it is about.

    Attributes:
        period: The day, month or year that it names; none where it names none.
        speakers: The speakers whom it names.
    """

    def __init__(self, question: str, asked: datetime | None, speakers: Collection[str]) -> None:
        """Read a question.

        Args:
            question: Its text.
            asked: When it is asked, from which "last month" is counted; none leaves only what needs no such day.
            speakers: All speakers whom the memory has heard.
        """
        self.period = _period(question, asked)
        self.speakers = frozenset(name for name in speakers if _names(question, name))

    def boost(self, utterance: Utterance, confidence: float, settings: GamSettings) -> float:
        """The product of the boosts of an utterance whose topic has a link of that confidence."""
        turn, time = utterance.held.turn, utterance.held.time
        product = 1.0 + (settings.confidence_boost - 1.0) * confidence
        if self.period is not None and time is not None and _within(time.date(), self.period):
            product *= settings.time_boost
        if turn.speaker in self.speakers:
            product *= settings.role_boost
        return product


def _period(question: str, asked: datetime | None) -> Resolved | None:
    """The first time that a question names, by the rules of `memory.dates`.

    A question without a date of its own can still name a day or a month with its year.
    """
    text = _VERBS.sub(" ", question)
    if asked is None and not re.search(r"\b(?:19|20)\d{2}\b", text):
        return None
    return resolve(text, asked.date() if asked else date.max, "improved")


def _within(day: date, period: Resolved) -> bool:
    """Whether a day is of a period: of its month or year, on its day, or within a week of a rough day."""
    if len(period.date) == len("2023-05-30") and period.approximate:
        return abs((day - date.fromisoformat(period.date)).days) <= _NEAR_DAYS
    return day.isoformat().startswith(period.date)


def _names(question: str, speaker: str) -> bool:
    """Whether a question names a speaker: by the first word of the name, or as "I" and "you" where turns have roles."""
    if speaker == "user":
        return bool(_OWN.search(question))
    if speaker == "assistant":
        return bool(_YOURS.search(question))
    own = _WORD.findall(speaker.lower())
    return bool(own) and own[0] in _WORD.findall(question.lower())
