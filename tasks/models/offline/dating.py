"""Simple reckoning with days: how long ago, and how long between two events."""

from __future__ import annotations

import re
from datetime import date

from memory.dates import resolve
from tasks.models.offline.chunker import TIME
from tasks.models.offline.passages import Passage, rank
from tasks.models.offline.tokens import content

_ASKED = re.compile(r"\bhow (?:many (days|weeks|months|years)|long)\b", re.IGNORECASE)
_AGO = re.compile(r"\b(?:ago|since)\b", re.IGNORECASE)
_BETWEEN = re.compile(
    r"\b(?:between|passed (?:since|between)|had it been since|before|after|when|until)\b", re.IGNORECASE
)
_PARTING = re.compile(r",?\s+(?:and (?:the day|when)|and|when|before|after|until)\s+", re.IGNORECASE)
_ISO = re.compile(r"(\d{4})[-/](\d{2})[-/](\d{2})")
_DAYS = {"days": 1.0, "weeks": 7.0, "months": 30.4, "years": 365.25}


def event_day(passage: Passage) -> date | None:
    """The day that a passage tells of: its own time expression against its session's day, or that day."""
    if passage.day is None:
        return None
    told = TIME.search(passage.text)
    resolved = resolve(told.group(), passage.day, "improved") if told else None
    if resolved is None or len(resolved.date) != len("2023-05-30"):
        return passage.day
    return date.fromisoformat(resolved.date)


def in_full(passage: Passage) -> str | None:
    """The day that a passage tells of, such as `7 May 2023`; none if the context shows no dates.

    A month or a year that is all that can be known is given as that.
    """
    if passage.day is None:
        return None
    told = TIME.search(passage.text)
    resolved = resolve(told.group(), passage.day, "improved") if told else None
    day = resolved.date if resolved else passage.day.isoformat()
    if len(day) == len("2023"):
        return day
    if len(day) == len("2023-05"):
        return f"{date.fromisoformat(day + '-01'):%B %Y}"
    return f"{date.fromisoformat(day).day} {date.fromisoformat(day):%B %Y}"


def elapsed(asked: str, passages: list[Passage], asked_on: str | None) -> str | None:
    """`12 days` and its like, if the question asks how long ago or how long between two events, and days are known.

    Args:
        asked: The question.
        passages: The context's passages.
        asked_on: The question's date, which begins with an ISO day.
    """
    unit = _ASKED.search(asked)
    if not unit or not passages:
        return None
    name = unit.group(1) or "days"
    rest = asked[unit.end() :]
    parts = [part for part in _PARTING.split(_BETWEEN.sub(" ", rest, count=1)) if content(part)]
    if _BETWEEN.search(rest) and len(parts) == 2:
        days = [_best_day(part, passages) for part in parts]
    elif _AGO.search(rest) and asked_on is not None:
        days = [_best_day(rest, passages), _iso(asked_on)]
    else:
        return None
    if days[0] is None or days[1] is None or days[0] == days[1]:
        return None
    return f"{round(abs((days[1] - days[0]).days) / _DAYS[name])} {name}"


def _best_day(event: str, passages: list[Passage]) -> date | None:
    return event_day(rank(passages, content(event))[0][1])


def _iso(text: str) -> date | None:
    match = _ISO.search(text)
    return date(*map(int, match.groups())) if match else None
