"""Entities of a text, and what is said of their values, by rules that cost a fraction of a millisecond a turn.

An entity is a run of capitalised words inside a sentence, or the noun phrase after an article or a possessive and each
of its words (`my leather boots` is `leather boot`, `leather` and `boot`); where a verb follows at once, it is taken for
a part of the phrase. A value is a number, an amount, a time or a name that a sentence states beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from memory.titles import singular


def _set(words: str) -> frozenset[str]:
    return frozenset(words.split())


_STOP = _set(
    "a about above after again against all also an and another any are as at be because been before being below "
    "between bit both but by can could day days did do does doing down during each every few for from further get "
    "good got great had has have having he her here his how i if in into is it its just kind last lot lots me might "
    "month months more most must my new next no nor not now of off on once one only or other our out over own really "
    "same shall she should so some sort such than that the their them then there these they thing things this those "
    "through time times to today tomorrow too two under until up very was way we week weeks well were what when where "
    "which while who whom why will with would year years yes yesterday you your"
)
_NAME = re.compile(r"(?<=[\w,;)\"'] )[A-Z][\w&]+(?: (?:of |the |de )?[A-Z0-9][\w&]*)*")  # begins no sentence
_NOUNS = re.compile(
    r"\b(?:my|our|your|his|her|their|its|a|an|the|this|that|some)(?=((?: [a-z0-9][\w'-]*){1,3}))",
    re.IGNORECASE,
)
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_VALUE = re.compile(r"[$€£]?\d[\d.,:/]*(?:%| ?(?:am|pm|AM|PM|k|K|km|kg|miles|hours|minutes|dollars)\b)?")
_VALUES = 4  # of a sentence that are kept
_NOT_A_NOUN = re.compile(r"(?:ly|ed)$")
_LEAST = 3  # letters of an entity


def entities_of(text: str) -> list[str]:
    """The distinct entities of a text, in the order they are met."""
    return list(dict.fromkeys(_entities(text)))


def _entities(text: str) -> Iterator[str]:
    for name in _NAME.findall(text):
        if len(name) >= _LEAST and (lower := name.lower()) not in _STOP:
            yield lower
    for phrase in _NOUNS.findall(text):
        words = _noun(phrase.lower().split())
        yield from (word for word in words if len(word) >= _LEAST)
        if len(words) > 1:
            yield " ".join(words)


def _noun(words: list[str]) -> list[str]:
    """The words of a noun phrase up to where it ends, in the singular."""
    kept: list[str] = []
    for word in words:
        if word in _STOP:
            break
        kept.append(singular(word.removesuffix("'s")))
    while kept and _NOT_A_NOUN.search(kept[-1]):
        kept.pop()
    return kept


def values_of(text: str) -> dict[str, str]:
    """What a text states a value of: the last value of each entity, the first few of its sentence together."""
    found: dict[str, str] = {}
    for sentence in _SENTENCE.split(text):
        values = [value.rstrip(".,:/") for value in _VALUE.findall(sentence)]
        names = [name.lower() for name in _NAME.findall(sentence) if name.lower() not in _STOP]
        stated = list(dict.fromkeys([*values, *names]))[:_VALUES]
        joined: dict[str, str] = {}  # the same text for all entities of a sentence is held once
        for entity in entities_of(sentence) if stated else ():
            own = entity.split()
            if others := [value for value in stated if value != entity and value not in own]:
                text_of_all = " ".join(others)
                found[entity] = joined.setdefault(text_of_all, text_of_all)
    return found


def phrases_of(question: str) -> list[str]:
    """What a question may name: its runs of one to three words, in the singular, the longest first."""
    words = [word.strip('.,!?;:"()').removesuffix("'s") for word in question.lower().split()]
    runs = (words[start : start + length] for length in (3, 2, 1) for start in range(len(words) - length + 1))
    naming = (run for run in runs if run[0] not in _STOP and run[-1] not in _STOP and len(run[-1]) >= _LEAST)
    return list(dict.fromkeys(" ".join(map(singular, run)) for run in naming))
