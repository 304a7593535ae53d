"""Dates that an extractor copied verbatim (`raw_date`), resolved against the date of their session.

Facts, section 4. The anchor is the session's date, never the clock on the wall. `published` resolves the
five forms of the reference code, its misreadings included; `improved` reads more forms, knows ISO 8601
dates of reduced precision (2023-05 for a month, 2019 for a year), and marks as approximate what is less
than a day.
"""

from __future__ import annotations

import calendar
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Literal

from memory.extraction import Scalar

DateRule = Literal["published", "improved"]

_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_name) if name}
_SHORT_MONTHS = {name.lower(): number for number, name in enumerate(calendar.month_abbr) if name}
_ANY_MONTH = {**_MONTHS, **_SHORT_MONTHS, "sept": 9}
_WEEKDAYS = {name.lower(): number for number, name in enumerate(calendar.day_name)}
_COUNTS = {
    **{"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7},
    **{"eight": 8, "nine": 9, "ten": 10, "eleven": 11, "twelve": 12},
    **{"couple of": 2, "a couple of": 2, "few": 3, "a few": 3, "several": 3},
}
_VAGUE_COUNTS = {"couple of", "a couple of", "few", "a few", "several"}
_NEAR = {
    "yesterday": -1,
    "last night": -1,
    "the day before yesterday": -2,
    "day before yesterday": -2,
    "today": 0,
    "tonight": 0,
    "this morning": 0,
    "this afternoon": 0,
    "this evening": 0,
    "tomorrow": 1,
    "the day after tomorrow": 2,
    "day after tomorrow": 2,
}


def _pattern(words: Mapping[str, int]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_NEAR_FIRST = re.compile(rf"({_pattern(_NEAR)})\b")
_NUMBER = rf"(\d{{1,4}}|{_pattern(_COUNTS)})"
_AGO = re.compile(
    rf"(?:about |around |over |almost |nearly )?{_NUMBER} (day|week|month|year)s? (?:ago\b|(?:before|earlier)$)"
)
_IN = re.compile(rf"in (?:about )?{_NUMBER} (day|week|month|year)s?\b")
_RELATIVE = re.compile(r"(last|this|next|past) (week|month|year|weekend)\b(?! of\b)")
_RELATIVE_DAY = re.compile(rf"(?:on )?(last|this|next|past)? ?({_pattern(_WEEKDAYS)})\b")
_ISO = re.compile(r"\b(\d{4})[-/](\d{1,2})[-/](\d{1,2})\b")
_ISO_MONTH = re.compile(r"^(\d{4})-(\d{2})$")
_YEAR = re.compile(r"\b(?:19|20)\d{2}\b")
_MONTH_FIRST = re.compile(rf"\b({_pattern(_ANY_MONTH)})\b\.? (?:the )?(\d{{1,2}})(?:st|nd|rd|th)?\b(?!\d)")
_DAY_FIRST = re.compile(rf"\b(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_pattern(_ANY_MONTH)})\b")
_MONTH_ALONE = re.compile(rf"\b(next )?({_pattern(_ANY_MONTH)})\b")
_MAY_AS_VERB = re.compile(r"may (?!\d{4}\b)")
_VAGUE = re.compile(r"\b(few|couple|recent|recently|while|lately)\b|some time|the other day")

_OLD_AGO = re.compile(r"(\d+) (day|week|month|year)s? ago")
_OLD_WEEKDAY = re.compile(rf"last ({_pattern(_WEEKDAYS)})")
_OLD_VAGUE = re.compile(r"\b(few|couple|recent|while)\b|some time")
_OLD_MONTH_FIRST = re.compile(rf"({_pattern(_MONTHS)}) (\d{{1,2}})")
_OLD_DAY_FIRST = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)?(?: of)? ({_pattern(_MONTHS)})")


@dataclass(frozen=True, slots=True)
class Resolved:
    """A date in ISO 8601, of a day, a month or a year, and whether it is less sure than a day."""

    date: str
    approximate: bool


def normalise_dates(
    attributes: Mapping[str, Scalar], anchor: datetime | None, rule: DateRule
) -> dict[str, Scalar]:
    """Attributes with `raw_date` replaced by `date`, `date_approximate` and `date_raw`.

    `date_approximate` is always there, as in the reference code; `date_raw` only where the date is
    approximate or could not be resolved. A `raw_date` that is no string is dropped. Without an anchor
    nothing is resolved.
    """
    kept = {name: value for name, value in attributes.items() if name != "raw_date"}
    raw = attributes.get("raw_date")
    if not isinstance(raw, str) or not raw.strip():
        return kept
    resolved = None if anchor is None else resolve(raw, anchor.date(), rule)
    if resolved is not None:
        kept["date"] = resolved.date
    kept["date_approximate"] = resolved is not None and resolved.approximate
    if resolved is None or resolved.approximate:
        kept["date_raw"] = raw
    return kept


def resolve(raw: str, anchor: date, rule: DateRule) -> Resolved | None:
    """The date that a phrase means on the day `anchor`, or none. It never raises.

    The reference code fails the whole question where a month has no such day (31 March less one month); here
    `published` leaves such a phrase unresolved, since a question lost to a calendar measures nothing.
    """
    text = " ".join(raw.lower().split())
    try:
        return _published(text, anchor) if rule == "published" else _improved(text, anchor)
    except (ValueError, OverflowError):
        return None


def _published(text: str, anchor: date) -> Resolved | None:
    near = {"yesterday": -1, "today": 0, "tomorrow": 1}
    if text in near:
        return _day(anchor + timedelta(days=near[text]))
    if weekday := _OLD_WEEKDAY.match(text):
        return _day(_weekday_before(anchor, _WEEKDAYS[weekday[1]]))
    if ago := _OLD_AGO.match(text):
        return _day(_shift(anchor, -int(ago[1]), ago[2], clamp=False))
    if _OLD_VAGUE.search(text):
        return Resolved((anchor - timedelta(days=7)).isoformat(), approximate=True)
    found = _OLD_MONTH_FIRST.search(text) or _OLD_DAY_FIRST.search(text)
    if not found:
        return None
    name, day = (found[1], found[2]) if found[1] in _MONTHS else (found[2], found[1])
    return _day(_latest(_MONTHS[name], int(day), anchor))


def _improved(text: str, anchor: date) -> Resolved | None:
    if near := _NEAR_FIRST.match(text):
        return _day(anchor + timedelta(days=_NEAR[near[1]]))
    readers: tuple[Callable[[str, date], Resolved | None], ...] = (
        _absolute,
        _counted,
        _relative,
        _vague,
        _month_or_year,
    )
    return next((found for reader in readers if (found := reader(text, anchor))), None)


def _absolute(text: str, anchor: date) -> Resolved | None:
    if iso := _ISO.search(text):
        return _day(date(int(iso[1]), int(iso[2]), int(iso[3])))
    if month := _ISO_MONTH.match(text):
        return Resolved(date(int(month[1]), int(month[2]), 1).isoformat()[:7], approximate=True)
    if found := _MONTH_FIRST.search(text):
        name, day = found[1], int(found[2])
    elif found := _DAY_FIRST.search(text):
        name, day = found[2], int(found[1])
    else:
        return None
    year = _YEAR.search(text)
    if year:
        return _day(date(int(year[0]), _ANY_MONTH[name], day))
    return _day(_latest(_ANY_MONTH[name], day, anchor))


def _counted(text: str, anchor: date) -> Resolved | None:
    """`two weeks ago`, `in 3 days`: a count of days is exact, of weeks and more it is rough."""
    found, sign = _AGO.search(text), -1
    if not found:
        found, sign = _IN.match(text), 1
    if not found:
        return None
    count = int(found[1]) if found[1].isdigit() else _COUNTS[found[1]]
    moved = _shift(anchor, sign * count, found[2], clamp=True)
    return Resolved(moved.isoformat(), approximate=found[2] != "day" or found[1] in _VAGUE_COUNTS)


def _relative(text: str, anchor: date) -> Resolved | None:
    steps = {"last": -1, "past": -1, "this": 0, "next": 1}
    if found := _RELATIVE.search(text):
        step, unit = steps[found[1]], found[2]
        if unit == "year":
            return Resolved(str(anchor.year + step), approximate=True)
        if unit == "month":
            return Resolved(_shift(anchor, step, "month", clamp=True).isoformat()[:7], approximate=True)
        return Resolved((anchor + timedelta(days=7 * step)).isoformat(), approximate=True)
    if found := _RELATIVE_DAY.match(text):
        weekday = _WEEKDAYS[found[2]]
        if found[1] in ("this", "next"):
            return _day(anchor + timedelta(days=(weekday - anchor.weekday() - 1) % 7 + 1))
        return _day(_weekday_before(anchor, weekday))
    return None


def _vague(text: str, anchor: date) -> Resolved | None:
    if _VAGUE.search(text):
        return Resolved((anchor - timedelta(days=7)).isoformat(), approximate=True)
    return None


def _month_or_year(text: str, anchor: date) -> Resolved | None:
    month, year = _MONTH_ALONE.search(text), _YEAR.search(text)
    if month and not _MAY_AS_VERB.match(text):
        number = _ANY_MONTH[month[2]]
        of = anchor.year - (number > anchor.month) + bool(month[1])
        if year:
            of = int(year[0])
        return Resolved(f"{of:04d}-{number:02d}", approximate=True)
    return Resolved(year[0], approximate=True) if year else None


def _day(value: date) -> Resolved:
    return Resolved(value.isoformat(), approximate=False)


def _weekday_before(anchor: date, weekday: int) -> date:
    """The most recent such weekday strictly before the anchor."""
    return anchor - timedelta(days=(anchor.weekday() - weekday - 1) % 7 + 1)


def _latest(month: int, day: int, anchor: date) -> date:
    """That day of the anchor's year, or of the year before if it would lie after the anchor."""
    this_year = date(anchor.year, month, day)
    return this_year if this_year <= anchor else date(anchor.year - 1, month, day)


def _shift(anchor: date, count: int, unit: str, *, clamp: bool) -> date:
    """The anchor moved by a count of units; `clamp` takes the last day of a month that is too short.

    Raises:
        ValueError: Without `clamp`, if that month has no such day; or if the year is out of range.
    """
    if unit in ("day", "week"):
        return anchor + timedelta(days=count * (7 if unit == "week" else 1))
    months = anchor.year * 12 + anchor.month - 1 + count * (12 if unit == "year" else 1)
    year, month = divmod(months, 12)
    if not 1 <= year <= 9999:
        raise ValueError("the year is out of range")
    last = calendar.monthrange(year, month + 1)[1]
    return date(year, month + 1, min(anchor.day, last) if clamp else anchor.day)
