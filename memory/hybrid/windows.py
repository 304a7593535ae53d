"""The time that a question names in relation to the day it is asked, such as `two weeks ago` or `last Saturday`."""

from __future__ import annotations

import calendar
import re
from dataclasses import dataclass
from datetime import date, timedelta

from memory.dates import resolve

_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|a couple of|a few|several)"
_DAY = "|".join(name.lower() for name in calendar.day_name)
_EXPRESSION = re.compile(
    rf"\b(?:(?:about|around|over|almost|nearly) )?{_COUNT} (?P<ago>day|week|month|year)s? ago\b"
    rf"|\b(?:on )?(?:last|past) (?:{_DAY})\b"
    r"|\b(?:last|past) (?P<last>week|weekend|month|year)\b"
    r"|\b(?:the day before yesterday|yesterday|last night)\b"
)
_WIDTHS = {"day": 1, "week": 2, "month": 7, "year": 45}
"""Days by which people are off, either way, who count back so many of these units."""
_LAST_WIDTH = 3
"""The same of `last week` and `last weekend`, which count back seven days."""


@dataclass(frozen=True, slots=True)
class Window:
    """The days, first and last included, that a question speaks of, and the question without the words that say so."""

    first: date
    last: date
    rest: str


def window_of(question: str, asked: date) -> Window | None:
    """The window of the first such expression in a question that is asked on a day; none if there is none."""
    found = _EXPRESSION.search(question.lower())
    if found is None or len(question.lower()) != len(question):  # places would not be the question's own
        return None
    resolved = resolve(found.group().removeprefix("on "), asked, "improved")
    if resolved is None:
        return None
    rest = " ".join((question[: found.start()] + " " + question[found.end() :]).split())
    if len(resolved.date) < len("2023-05-20"):
        return Window(*_whole(resolved.date), rest)
    width = _WIDTHS[found["ago"]] if found["ago"] else _LAST_WIDTH if found["last"] else 0
    day = date.fromisoformat(resolved.date)
    return Window(day - timedelta(days=width), day + timedelta(days=width), rest)


def _whole(month_or_year: str) -> tuple[date, date]:
    """First and last day of `2023-05` or `2023`."""
    year, _, month = month_or_year.partition("-")
    if not month:
        return date(int(year), 1, 1), date(int(year), 12, 31)
    last = calendar.monthrange(int(year), int(month))[1]
    return date(int(year), int(month), 1), date(int(year), int(month), last)
