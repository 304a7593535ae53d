"""Edits with one fault each, made of a true fact: what a gate has to keep out (facts, section 7, steps 6 and 7)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory.prompts.graft_replies import Edit

HARMS = ("wrong_value", "relative_time", "absence", "duplicate", "other_speaker", "unsupported")

_FIGURE = re.compile(r"\d+")
_LONG_WORD = re.compile(r"\b[^\W\d_]{4,}\b")
_SPEAKER = re.compile(r"(?:\[[^\]]*\] )?([^:\[\]\n]{1,60}): ")


@dataclass(frozen=True, slots=True)
class Material:
    """What harmful edits are made of.

    Attributes:
        fact: The text of a true fact.
        sources: The episodes that it stands on, by id.
        known: The text of a fact that is stored and shown, and the episodes that it stands on.
        strange: An episode that is shown and that the fact does not stand on.
        speakers: Who speaks in the conversation.
        word: A word of another fact.
    """

    fact: str
    sources: tuple[str, ...]
    known: tuple[str, tuple[str, ...]] | None
    strange: str | None
    speakers: tuple[str, ...]
    word: str | None


def true_edit(material: Material) -> Edit:
    """The fact as it was."""
    return Edit("fact", material.fact, 1.0, material.sources)


def harmful(material: Material) -> Iterator[tuple[str, Edit]]:
    """An edit for each of `HARMS` that can be made of the material."""
    plain = material.fact.rstrip(" .")
    texts = {
        "wrong_value": wrong_value(material.fact, material.word),
        "relative_time": f"{plain} last week.",
        "absence": f"It is not mentioned whether {plain}.",
        "other_speaker": other_speaker(material.fact, material.speakers),
    }
    for harm, text in texts.items():
        if text is not None:
            yield harm, Edit("fact", text, 1.0, material.sources)
    if material.known is not None:
        yield "duplicate", Edit("fact", material.known[0], 1.0, material.known[1])
    if material.strange is not None:
        yield "unsupported", Edit("fact", material.fact, 1.0, (material.strange,))


def wrong_value(fact: str, word: str | None) -> str | None:
    """A fact with its last figure raised by one, or else with another last word; none if it has neither."""
    figures = list(_FIGURE.finditer(fact))
    if figures:
        last = figures[-1]
        return f"{fact[: last.start()]}{int(last.group()[:9]) + 1}{fact[last.end() :]}"
    words = list(_LONG_WORD.finditer(fact))
    if not words or word is None or word.lower() == words[-1].group().lower():
        return None
    return f"{fact[: words[-1].start()]}{word}{fact[words[-1].end() :]}"


def last_word(fact: str) -> str | None:
    """The last long word of a fact, which may take the place of another's."""
    words = _LONG_WORD.findall(fact)
    return words[-1] if words else None


def other_speaker(fact: str, speakers: Sequence[str]) -> str | None:
    """A fact about the next speaker instead of the first whom it names; none if it names none, or there is no other."""
    for place, speaker in enumerate(speakers):
        named = re.compile(rf"\b{re.escape(speaker)}\b")
        if len(speakers) > 1 and named.search(fact):
            other = speakers[(place + 1) % len(speakers)]
            return named.sub(lambda _, name=other: name, fact)  # type: ignore[misc]
    return None


def speakers_of(episodes: Sequence[str]) -> tuple[str, ...]:
    """Who speaks in some episodes, in order of appearance."""
    found = (_SPEAKER.match(text) for text in episodes)
    return tuple(dict.fromkeys(each[1] for each in found if each))
