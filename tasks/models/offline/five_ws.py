"""Who, what, when, where and why of a turn or a question, by noun phrases and word lists alone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from memory.prompts.five_ws import MOST_CHARACTERS, MOST_TAGS, SLOTS, FiveWsReply
from tasks.models.offline.chunker import TIME, Phrase, Word, clauses, phrases, words
from tasks.models.offline.lexicon import DETERMINERS, FIRST_PERSON, FUNCTION_WORDS, LABEL_CUES, VERBS

_ROLES = frozenset({"", "user", "assistant"})
_PERSONS = LABEL_CUES["Person"] | LABEL_CUES["Organization"]
_PLACES = LABEL_CUES["Location"]
_BEFORE_PLACES = frozenset(
    {"in", "at", "near", "from", "to", "through", "around", "across", "visit", "visited"}
)
_BEFORE_PERSONS = frozenset(
    {"with", "by", "named", "called", "hey", "hi", "hello", "dear", "thanks", "told", "asked"}
)
_ACTING = VERBS | {"is", "was", "has", "had", "will", "would", "can", "could", "did", "does", "should"}
_REASON_WORDS = 10

_CAUSE = re.compile(
    r"\b(?:because(?: of)?|so that|in order to|due to|thanks to|since(?= (?:i|it|we|my|they|he|she)\b))\s+"
    r"([^.,;:!?]{3,})",
    re.IGNORECASE,
)


def tags_of(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `five_ws` or `five_ws_query`, as `FiveWsReply`."""
    read = [_read(clause) for clause in clauses(inputs["text"])]
    speaker = inputs["speaker"]
    named = [speaker] if speaker.lower() not in _ROLES and any(c.of_speaker for c in read) else []
    phrases_of: dict[str, list[Phrase]] = {"who": [], "where": [], "what": []}
    for clause in read:
        for phrase in clause.phrases:
            phrases_of[_slot_of(clause, phrase)].append(phrase)
    # Names first, then longer phrases: they single out what is meant, and only the first few are kept.
    phrases_of["what"].sort(key=lambda phrase: -(2 * phrase.proper + min(phrase.last - phrase.first, 2)))
    found: dict[str, Iterable[str]] = {
        **{slot: [phrase.text for phrase in own] for slot, own in phrases_of.items()},
        "when": [time for clause in read for time in clause.times],
        "why": [reason for clause in read for reason in _reasons(clause)],
    }
    found["who"] = [*named, *found["who"]]
    return FiveWsReply(**{slot: _bounded(found[slot]) for slot in SLOTS}).model_dump_json()


@dataclass(frozen=True, slots=True)
class _Clause:
    """A clause with its words, its noun phrases and its time expressions."""

    text: str
    words: list[Word]
    phrases: list[Phrase]
    times: list[str]

    @property
    def of_speaker(self) -> bool:
        """Whether its speaker says something of themselves."""
        return any(word.lower in FIRST_PERSON for word in self.words)

    def before(self, phrase: Phrase) -> str:
        """The word before a phrase and its determiner; empty at the beginning."""
        place = phrase.first - 1
        while place >= 0 and self.words[place].lower in DETERMINERS:
            place -= 1
        return self.words[place].lower if place >= 0 else ""

    def after(self, phrase: Phrase) -> str:
        """The word after a phrase; empty at the end."""
        return self.words[phrase.last + 1].lower if phrase.last + 1 < len(self.words) else ""

    def own(self, phrase: Phrase) -> list[Word]:
        """The words of a phrase."""
        return self.words[phrase.first : phrase.last + 1]


def _read(text: str) -> _Clause:
    tokens = words(text)
    return _Clause(text, tokens, phrases(text, tokens), [match.group() for match in TIME.finditer(text)])


def _slot_of(clause: _Clause, phrase: Phrase) -> str:
    """Which W a phrase is: who with a word for a person or a group, where with one for a place at its end.

    A name is where after a preposition of place; it is who where persons stand, which is after words such as `with` and
    `named` and, for up to two words, before a verb. All else is what.
    """
    own = clause.own(phrase)
    lower = [word.lower.removesuffix("'s") for word in own]
    if not _PERSONS.isdisjoint(lower):
        return "who"
    before = clause.before(phrase)
    if own[-1].lower in _PLACES or (phrase.proper and before in _BEFORE_PLACES):
        return "where"
    if not own[0].text[0].isupper():
        return "what"
    acts = len(own) <= 2 and clause.after(phrase) in _ACTING and all(word.text[0].isupper() for word in own)
    return "who" if acts or before in _BEFORE_PERSONS or own[-1].lower.endswith("'s") else "what"


def _reasons(clause: _Clause) -> Iterator[str]:
    """What follows `because` and its like, and clauses with `to` after a noun phrase: what something is for."""
    for match in _CAUSE.finditer(clause.text):
        yield _first_words(match.group(1))
    ends = {phrase.last for phrase in clause.phrases}
    for place, word in enumerate(clause.words[:-1]):
        following = clause.words[place + 1].lower
        if (
            word.lower == "to"
            and place - 1 in ends
            and following in VERBS
            and following not in FUNCTION_WORDS
        ):
            end = re.search(r"[.,;:!?]|$", clause.text[word.start :])
            yield _first_words(clause.text[word.start :][: end.start() if end else None])


def _first_words(text: str) -> str:
    return " ".join(text.split()[:_REASON_WORDS])


def _bounded(tags: Iterable[str]) -> list[str]:
    """The first tags that fit, each once regardless of case."""
    distinct: dict[str, str] = {}
    for tag in tags:
        if len(tag) <= MOST_CHARACTERS:
            distinct.setdefault(tag.casefold(), tag)
    return list(distinct.values())[:MOST_TAGS]
