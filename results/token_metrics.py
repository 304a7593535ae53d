"""Token precision, recall and F1 of an answer against its reference.

`published` follows the Selective Forgetting paper to the last bit (facts, section 12). `improved` also reads
number words and the alternatives that LongMemEval writes into its references, which otherwise cap a perfect
answer at an F1 of about one third.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from dataclasses import dataclass

_DELETE_PUNCTUATION = str.maketrans("", "", string.punctuation)
_ARTICLES = frozenset({"a", "an", "the"})


@dataclass(frozen=True, slots=True)
class TokenScores:
    """Overlap of two multisets of tokens; each figure within [0, 1]."""

    precision: float
    recall: float
    f1: float


def published(answer: str, reference: str) -> TokenScores:
    """Score as the paper does: macro means of these figures are its Table 1 (facts, section 12).

    Two texts without tokens agree fully; one without tokens scores zero against any other.
    """
    return _overlap(words(answer), words(reference))


def improved(answer: str, reference: str) -> TokenScores:
    """Score the best (by F1) over the reference and its alternatives, with number words read as digits."""
    said = words(digits_for_words(answer))
    scores = [_overlap(said, words(digits_for_words(clause))) for clause in alternatives(reference)]
    return max(scores, key=lambda score: (score.f1, score.recall))


def words(text: str) -> list[str]:
    """Lower-case words; punctuation is deleted, not replaced: `$1,300` is `1300` and `3:1` is `31`."""
    split = text.lower().translate(_DELETE_PUNCTUATION).split()
    return [word for word in split if word not in _ARTICLES]


def _overlap(answer: list[str], reference: list[str]) -> TokenScores:
    if not answer or not reference:
        agreement = 1.0 if answer == reference else 0.0
        return TokenScores(agreement, agreement, agreement)
    shared = (Counter(answer) & Counter(reference)).total()
    if not shared:
        return TokenScores(0.0, 0.0, 0.0)
    precision = shared / len(answer)
    recall = shared / len(reference)
    # This order of operations is the one that gives the published floats to the last bit.
    return TokenScores(precision, recall, 2 * precision * recall / (precision + recall))


# --- alternatives in a reference ---

_ALSO_ACCEPTABLE = re.compile(r"(?P<first>.+?)\. (?P<other>[^.]+) (?:is|are) also acceptable\.?")
_OR_IN_BRACKETS = re.compile(r"(?P<first>.+?) \(or (?P<other>[^()]+)\)\.?")
_RANGE = re.compile(r"answers ranging from (?P<low>\d+) (?P<unit>\w+) to (?P<high>\d+) (?P=unit)", re.I)
_GLOSS = re.compile(r" \([^()]*\)")
_CONDITION = re.compile(r", if\b.*")
_LONGEST_RANGE = 100


def alternatives(reference: str) -> list[str]:
    """The texts that a reference accepts, itself first.

    Read are the three forms that occur in LongMemEval: `7 days. 8 days (including the last day) is also
    acceptable.`, `One week. Answers ranging from 7 days to 10 days are also acceptable.` and
    `11 days (or 12 days, if ...)`.
    """
    text = " ".join(reference.split())
    form = _ALSO_ACCEPTABLE.fullmatch(text) or _OR_IN_BRACKETS.fullmatch(text)
    if form is None:
        return [reference]
    spread = _RANGE.fullmatch(form["other"])
    if spread is None:
        return [reference, form["first"], _CONDITION.sub("", _GLOSS.sub("", form["other"]))]
    low, high = int(spread["low"]), int(spread["high"])
    numbers = range(low, min(high, low + _LONGEST_RANGE) + 1)
    return [reference, form["first"], *(f"{number} {spread['unit']}" for number in numbers)]


# --- number words ---

_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"),
    *(
        "ten",
        "eleven",
        "twelve",
        "thirteen",
        "fourteen",
        "fifteen",
        "sixteen",
        "seventeen",
        "eighteen",
        "nineteen",
    ),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_VALUES = {word: n for n, word in enumerate(_SMALL)} | {word: 10 * n for n, word in enumerate(_TENS, start=2)}

_BELOW_100 = rf"(?:(?:{'|'.join(_TENS)})(?:[-\s]+(?:{'|'.join(_SMALL[1:10])}))?|{'|'.join(_SMALL)})"
_BELOW_1000 = rf"(?:(?:{_BELOW_100}[-\s]+)?hundred(?:[-\s]+(?:and\s+)?{_BELOW_100})?|{_BELOW_100})"
_THOUSANDS = rf"(?:{_BELOW_1000}[-\s]+)?thousand(?:[-\s]+(?:and\s+)?{_BELOW_1000})?"
_MILLIONS = rf"(?:{_BELOW_1000}[-\s]+)?million(?:[-\s]+(?:and\s+)?(?:{_THOUSANDS}|{_BELOW_1000}))?"
_NUMBER = re.compile(rf"\b(?:{_MILLIONS}|{_THOUSANDS}|{_BELOW_1000})\b")
_SEPARATOR = re.compile(r"[-\s]+")


def digits_for_words(text: str) -> str:
    """The text, lower-cased, with its cardinal number words as digits: `Twenty-five days` becomes `25 days`.

    Words that do not make one number stay apart (`five six` is `5 6`, `two and three` is `2 and 3`).
    """
    return _NUMBER.sub(lambda number: str(_value(_SEPARATOR.split(number[0]))), text.lower())


def _value(words: list[str]) -> int:
    """`three hundred and five thousand two` is (3 x 100 + 5) x 1000 + 2; a scale alone counts once."""
    total = group = 0
    for word in words:
        if word == "hundred":
            group = max(group, 1) * 100
        elif word in ("thousand", "million"):
            total += max(group, 1) * (1_000 if word == "thousand" else 1_000_000)
            group = 0
        elif word != "and":
            group += _VALUES[word]
    return total + group
