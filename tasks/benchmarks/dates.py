"""Strict readers of the benchmarks' date strings.

They know one form each and the English names in it, whatever the locale, and never fall back to another date.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime

_WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = (
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
)
_LONGMEMEVAL = re.compile(
    r"([0-9]{4})/([0-9]{2})/([0-9]{2}) \((" + "|".join(_WEEKDAYS) + r")\) ([0-9]{2}):([0-9]{2})"
)
_LOCOMO = re.compile(
    r"([0-9]{1,2}):([0-9]{2}) (am|pm) on ([0-9]{1,2}) (" + "|".join(_MONTHS) + r"), ([0-9]{4})"
)
_BEAM = re.compile("(" + "|".join(_MONTHS) + r")-([0-9]{2})-([0-9]{4})")


def longmemeval_date(text: str) -> datetime:
    """Read a date such as `2023/05/30 (Tue) 23:40`, taken as UTC.

    Raises:
        ValueError: If the form differs, there is no such day, or the weekday is not that day's.
    """
    match = _LONGMEMEVAL.fullmatch(text)
    if match is None:
        raise ValueError("a date looks like 2023/05/30 (Tue) 23:40")
    year, month, day, weekday, hour, minute = match.groups()
    date = datetime(int(year), int(month), int(day), int(hour), int(minute), tzinfo=UTC)
    if _WEEKDAYS[date.weekday()] != weekday:
        raise ValueError(f"that day is a {_WEEKDAYS[date.weekday()]}")
    return date


def locomo_date(text: str) -> datetime:
    """Read a date such as `1:56 pm on 8 May, 2023`, taken as UTC.

    Raises:
        ValueError: If the form differs, or there is no such moment.
    """
    match = _LOCOMO.fullmatch(text)
    if match is None:
        raise ValueError("a date looks like 1:56 pm on 8 May, 2023")
    hour, minute, half, day, month, year = match.groups()
    if not 1 <= int(hour) <= 12:
        raise ValueError("the hour must be 1 to 12")
    hour_of_day = int(hour) % 12 + (12 if half == "pm" else 0)
    return datetime(int(year), _MONTHS.index(month) + 1, int(day), hour_of_day, int(minute), tzinfo=UTC)


def beam_date(text: str) -> datetime:
    """Read a date such as `March-05-2024`, the start of that day in UTC.

    Raises:
        ValueError: If the form differs, or there is no such day.
    """
    match = _BEAM.fullmatch(text)
    if match is None:
        raise ValueError("a date looks like March-05-2024")
    month, day, year = match.groups()
    return datetime(int(year), _MONTHS.index(month) + 1, int(day), tzinfo=UTC)


def iso_date(text: str) -> datetime:
    """Read an ISO 8601 date such as `2024-05-01` or `2024-05-01T09:30:00+02:00`; without a zone it is UTC.

    Raises:
        ValueError: If the form differs, there is no such moment, or its year is not 1700 to 2200, beyond which tables
            cannot show it everywhere.
    """
    try:
        date = datetime.fromisoformat(text)
        date = date.astimezone(UTC) if date.tzinfo else date.replace(tzinfo=UTC)
    except (ValueError, OverflowError):
        raise ValueError("a date looks like 2024-05-01 or 2024-05-01T09:30:00Z") from None
    if not 1700 <= date.year <= 2200:
        raise ValueError("its year must be 1700 to 2200")
    return date
