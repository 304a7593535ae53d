"""Sentences, words, noun phrases and time expressions, by punctuation and word lists alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from tasks.models.offline.lexicon import DETERMINERS, FUNCTION_WORDS, VAGUE, VERBS

_MAX_CLAUSE = 240
_MAX_PHRASE_WORDS = 5

_ABBREVIATIONS = ("Mr.", "Mrs.", "Ms.", "Dr.", "St.", "Jr.", "vs.", "e.g.", "i.e.", "etc.", "No.")
_SENTENCE_END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]?[A-Z0-9])")
_MARKUP = re.compile(r"^[\s>#*•|–-]+|\*\*|__|`|[\s|]+$")
_CLAUSE_END = re.compile(r"[;:]\s|,\s(?:and|but|so|which|while|because)\s|\s[-–—]\s|,\s")
_WORD = re.compile(r"[$€£]?\d[\d,.:/%-]*\w*|[^\W\d_][\w'’&-]*(?:\.[A-Z]\b)*")

_MONTH = (
    r"(?:January|February|March|April|May|June|July|August|September|October|November|December"
    r"|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\b\.?"
)
_COUNT = r"(?:\d+|an?|one|two|three|four|five|six|seven|eight|nine|ten|a few|a couple(?: of)?|few|several)"
_WEEKDAY = r"(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day"
TIME = re.compile(
    rf"""\b(?:
      yesterday|today|tonight|tomorrow|recently|lately|a\ while\ ago|this\ morning
    | (?:early\ |late\ |earlier\ |later\ )?(?:last|this|next|past)\ (?:{_WEEKDAY}|night|week(?:end)?|month
        |year|spring|summer|fall|autumn|winter|{_MONTH})
    | (?:about\ |around\ |over\ )?{_COUNT}\ (?:day|week(?:end)?|month|year)s?\ (?:ago|back|earlier)
    | (?:for|in)\ the\ (?:last|past)\ {_COUNT}?\ ?(?:day|week|month|year)s?
    | (?:early\ |mid-|late\ )?{_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?(?:,?\ \d{{4}})?
    | \d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?:,?\ \d{{4}})?
    | (?:in|since|until|by|around|early|late|mid)[\ -](?:early\ |late\ |mid-)?{_MONTH}(?:\ \d{{4}})?
    | (?:in|since|until|by|around)\ (?:19|20)\d\d
    | \d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}
    | on\ {_WEEKDAY}s?
    )(?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word and where it stands in its clause."""

    text: str
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The word in lower case, with a straight apostrophe and without a possessive ending."""
        return self.text.lower().replace("’", "'")


@dataclass(frozen=True, slots=True)
class Phrase:
    """A noun phrase: its words without determiners, and its place among the words of its clause."""

    text: str
    first: int
    last: int
    proper: bool


def sentences(text: str) -> Iterator[str]:
    """The sentences of a message, none across lines; markup is dropped, the numbers of a list stay."""
    for line in text.splitlines():
        bare = _MARKUP.sub("", line).strip()
        held = ""
        for piece in _SENTENCE_END.split(bare):
            held = f"{held} {piece}" if held else piece
            if held.endswith(_ABBREVIATIONS) or held.rstrip(".").isdigit():
                continue
            yield held
            held = ""
        if held:
            yield held


def clauses(text: str) -> Iterator[str]:
    """The sentences, with those over 240 characters cut at the last clause border before that length."""
    for sentence in sentences(text):
        rest = sentence
        while len(rest) > _MAX_CLAUSE:
            borders = [match.end() for match in _CLAUSE_END.finditer(rest, 80, _MAX_CLAUSE)]
            cut = borders[-1] if borders else rest.rfind(" ", 0, _MAX_CLAUSE) + 1 or _MAX_CLAUSE
            yield rest[:cut].strip()
            rest = rest[cut:]
        if rest.strip():
            yield rest.strip()


def words(clause: str) -> list[Word]:
    """The words and numbers of a clause."""
    found = []
    for match in _WORD.finditer(clause):
        text = match.group().rstrip(".,:-/'’")
        found.append(Word(text, match.start(), match.start() + len(text)))
    return found


def phrases(clause: str, tokens: list[Word]) -> list[Phrase]:
    """The noun phrases of a clause, in order: runs of words between function words, verbs and punctuation.

    A word that can be a verb (`walk`) belongs to a phrase after a determiner. A capitalised word belongs to
    one unless it opens the clause. Time expressions are no phrases.
    """
    found: list[Phrase] = []
    run: list[int] = []
    opening = next((place for place, token in enumerate(tokens) if token.text[0].isalpha()), 0)
    times = [match.span() for match in TIME.finditer(clause)]
    for place, token in enumerate(tokens):
        apart = place > 0 and _breaks(clause[tokens[place - 1].end : token.start])
        if run and (apart or len(run) == _MAX_PHRASE_WORDS):
            found += _phrase(tokens, run)
            run = []
        dated = any(start <= token.start < end for start, end in times)
        if not dated and _is_nominal(tokens, place, place > opening, bool(run)):
            run.append(place)
        elif run:
            found += _phrase(tokens, run)
            run = []
    return found + (_phrase(tokens, run) if run else [])


def _breaks(gap: str) -> bool:
    """Whether what stands between two words is punctuation rather than a space."""
    return bool(gap.strip(" \"'’“”"))


def _is_nominal(tokens: list[Word], place: int, capital_tells: bool, inside: bool) -> bool:
    """Whether the word can be part of a noun phrase where it stands."""
    token = tokens[place]
    word = token.lower
    if capital_tells and token.text[0].isupper() and word not in FUNCTION_WORDS:
        return True
    if word in FUNCTION_WORDS or (len(word) == 1 and not word.isdigit()):
        return False
    if word.endswith("ly") and word not in {"family", "july", "italy", "assembly", "supply", "jelly"}:
        return False
    if word in VERBS or (not inside and word.endswith(("ing", "ed"))):
        return inside or (place > 0 and tokens[place - 1].lower in DETERMINERS)
    return True


def _phrase(tokens: list[Word], run: list[int]) -> list[Phrase]:
    """The phrase of a run, without vague or verbal words at its ends; none if nothing else is in it."""
    kept = list(run)
    while kept and tokens[kept[0]].lower in VAGUE and not tokens[kept[0]].text[0].isupper():
        kept.pop(0)
    while kept and (tokens[kept[-1]].lower in VAGUE or _is_trailing_verb(tokens, kept)):
        kept.pop()
    if not any(tokens[place].text[0].isalpha() for place in kept):
        return []
    text = " ".join(tokens[place].text for place in kept).removesuffix("'s").removesuffix("’s")
    proper = any(tokens[place].text[0].isupper() for place in kept if place > 0)
    return [Phrase(text, kept[0], kept[-1], proper)]


def _is_trailing_verb(tokens: list[Word], kept: list[int]) -> bool:
    """Whether a longer phrase ends in a finite verb (`my cousin told`)."""
    last = tokens[kept[-1]]
    return (
        len(kept) > 1
        and last.lower in VERBS
        and not last.text[0].isupper()
        and not last.lower.endswith("ing")
    )
