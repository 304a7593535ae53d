"""Lines of a source as the offline curator and answerer read them: date, speaker, number, and what is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

_DATE = re.compile(r"\[(\d{4}-\d{2}-\d{2})\] ")
_SPEAKER = re.compile(r"([^:\n]{1,60}): ")
_NUMBER = re.compile(r"(\d{1,9})\. ")
_LISTED = 0.9
"""Share of the lines that must have a number for them to be a list."""


@dataclass(frozen=True, slots=True)
class SourceLine:
    """A line by its parts.

    Attributes:
        said: The words.
        number: The one before them in a list of numbered facts.
        speaker: Who says it; empty if the line does not tell.
        date: The ISO day of its session; empty if the line has none.
    """

    said: str
    number: int | None = None
    speaker: str = ""
    date: str = ""


def read_line(text: str) -> SourceLine:
    """The parts of a line such as `[2023-05-08] user: 12. Ilse lives in Lyon.`, of which it needs to have but words."""
    date, text = _taken(_DATE, text)
    speaker, rest = _taken(_SPEAKER, text) if not _NUMBER.match(text) else ("", text)
    number, said = _taken(_NUMBER, rest)
    return SourceLine(said.strip(), int(number) if number else None, speaker, date)


def _taken(part: re.Pattern[str], text: str) -> tuple[str, str]:
    """A part at the beginning of a text, empty if it lacks, and the rest."""
    found = part.match(text)
    return (found[1], text[found.end() :]) if found else ("", text)


def is_fact_list(lines: Sequence[SourceLine]) -> bool:
    """Whether lines are a list of numbered facts: nearly all have a number, and no number comes twice.

    The lists in one reply of an assistant begin at 1 again and again.
    """
    numbers = [line.number for line in lines if line.number is not None]
    return bool(numbers) and len(set(numbers)) == len(numbers) >= _LISTED * len(lines)
