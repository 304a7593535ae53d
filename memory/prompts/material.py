"""Material in a prompt: sections of lines under headings, and how many words each may take; texts of a reply, flat."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from pydantic import BeforeValidator

from memory.tokens import sendable


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and what stands under it.

    Attributes:
        name: What offline models know it by.
        heading: What a language model reads.
        entries: `(id, text)`; the id may be empty.
        share: Of the words of all sections, how many are kept for this one.
    """

    name: str
    heading: str
    entries: tuple[tuple[str, str], ...]
    share: float

    def lines(self) -> list[str]:
        """The entries as they are shown: each is one line that begins with an id or a dash, whatever it holds."""
        return [f"[{id}] {flat(text)}" if id else f"- {flat(text)}" for id, text in self.entries]

    def sizes(self) -> list[int]:
        """Words of each entry, its id among them."""
        return [bool(id) + len(text.split()) for id, text in self.entries]


def flat(text: str) -> str:
    """A text on one line, so that nothing in it can begin another line or section."""
    return " ".join(sendable(text).split())


def _text(value: object) -> str:
    return flat(value) if isinstance(value, str) else ""


def _names(value: object) -> str:
    return ", ".join(map(_text, value)) if isinstance(value, list) else _text(value)


Text = Annotated[str, BeforeValidator(_text)]
"""A text of a reply on one line; what is no text counts as none."""
Names = Annotated[str, BeforeValidator(_names)]
"""Ids in a reply, as a text such as `L3, L7` or as a list of texts."""


def fitted(sections: Sequence[Section], words: int) -> list[Section]:
    """The sections cut to a number of words: first each to its share, then what is left over goes to them in order.

    A section ends at the first line that does not fit (facts, section 4.2).
    """
    kept = [0] * len(sections)
    sizes = [section.sizes() for section in sections]
    left = words
    for number, section in enumerate(sections):
        kept[number], used = _fill(sizes[number], 0, int(words * section.share))
        left -= used
    for number in range(len(sections)):
        kept[number], used = _fill(sizes[number], kept[number], left)
        left -= used
    return [
        Section(section.name, section.heading, section.entries[: kept[number]], section.share)
        for number, section in enumerate(sections)
    ]


def _fill(sizes: Sequence[int], first: int, words: int) -> tuple[int, int]:
    """Up to which line a section is kept if lines from `first` on may take so many words, and how many they take."""
    used = 0
    for number in range(first, len(sizes)):
        if used + sizes[number] > words:
            return number, used
        used += sizes[number]
    return len(sizes), used


def rendered(sections: Sequence[Section]) -> str:
    """The sections as text; an empty one says so."""
    return "\n\n".join(
        "\n".join([f"{section.heading}:", *(section.lines() or ["(none)"])]) for section in sections
    )
