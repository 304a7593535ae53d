"""Judging an answer by a rule, without a model: MAB-FC's substrings, the choice among options, ATANT's strings."""

from __future__ import annotations

import re
from collections.abc import Sequence

from results.content_match import missing

_NUMBER_WORDS = (
    *(
        "zero",
        "one",
        "two",
        "three",
        "four",
        "five",
        "six",
        "seven",
        "eight",
        "nine",
        "ten",
        "eleven",
        "twelve",
    ),
)
_DIGITS = {word: str(number) for number, word in enumerate(_NUMBER_WORDS)}
_TOKEN = re.compile(r"\w+")
_SHORTEST = 3

_LABEL = re.compile(r"\(([a-z])\)\s*")
_BARE = re.compile(r"\W*([a-z])\W*", re.IGNORECASE)
_LEADING = re.compile(r"([a-z])[).:]\s", re.IGNORECASE)
_BRACKETED = re.compile(r"\(([a-z])\)", re.IGNORECASE)
_SAID = re.compile(r"\b(?:option|answer|choice)(?: is|:)? ([a-z])\b(?!['’])", re.IGNORECASE)


def normalised(text: str) -> str:
    """Lower-case tokens between single blanks, number words from zero to twelve as digits (RD-Forget, section 5.1).

    A token is a run of letters, digits and underscores; the paper does not say what its tokens are.
    """
    return " ".join(_DIGITS.get(token, token) for token in _TOKEN.findall(text.lower()))


def substring(answer: str, references: Sequence[str]) -> str | None:
    """The first reference that an answer agrees with, by RD-Forget's rule for MAB-FC; none if it agrees with none.

    It does if the normalised reference is not empty and a substring of the normalised answer, or the normalised
    answer has at least three characters and is a substring of the normalised reference. Substrings need not be whole
    words: by the rule, `Bartok` says `art`.
    """
    said = normalised(answer)
    for reference in references:
        wanted = normalised(reference)
        if (wanted and wanted in said) or (len(said) >= _SHORTEST and said in wanted):
            return reference
    return None


def choice(answer: str, options: Sequence[str]) -> str | None:
    """The option that an answer chooses, none if it chooses none or leaves open which.

    Read are, in this order: a letter that is all of the answer (`b`, `(b).`) or stands before its text (`b) Tea.`),
    the letter in brackets (`I take (b).`), `option b` or `the answer is b`, and last an option's whole text. The first
    of these forms that occurs decides; letters or texts of several options in it choose none.

    Args:
        answer: What a system said.
        options: Each with its letter: `(a) Tea.`.
    """
    by_letter = {match[1]: option for option in options if (match := _LABEL.match(option))}
    said = answer.strip()
    whole, leading = _BARE.fullmatch(said), _LEADING.match(said)
    for letters in (
        [whole[1]] if whole else [],
        [leading[1]] if leading else [],
        _BRACKETED.findall(said),
        _SAID.findall(said),
    ):
        named = {letter.lower() for letter in letters} & by_letter.keys()
        if named:
            return by_letter[named.pop()] if len(named) == 1 else None
    text = normalised(said)
    stated = [
        option for option in options if (own := normalised(_LABEL.sub("", option, count=1))) and own in text
    ]
    return stated[0] if len(stated) == 1 else None


def strings(answer: str, expected: Sequence[str]) -> tuple[str, ...]:
    """The expected strings that an answer lacks, by ATANT's rule; it passes if it lacks none.

    A string occurs if it is part of the answer in any case of letters: `Tea` is said by `steamed` (facts on GAAMA,
    section 14).
    """
    return missing(answer, expected)
