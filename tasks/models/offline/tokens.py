"""Words as the offline answerer and judge compare them: stems, with numbers in figures."""

from __future__ import annotations

import re
import threading

import Stemmer

from tasks.models.offline.lexicon import FUNCTION_WORDS

_WORD = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?|[^\W\d_]+(?:['’][^\W\d_]+)?")
_UNITS = [
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
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
]
_TENS = ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"]
_NUMBERS = {word: str(value) for value, word in enumerate(_UNITS)}
_NUMBERS |= {word: str(10 * value) for value, word in enumerate(_TENS, 2)}
_NUMBERS |= {"once": "1", "twice": "2", "triple": "3", "hundred": "100"}

# Words that are function words in a clause, but that an answer can consist of.
_TELLING = frozenset({"less", "more", "few", "before", "after", "never", "always", "yes", "no", "not"})

# A stemmer of PyStemmer keeps state while it works: one a thread.
_local = threading.local()


def stems(text: str) -> list[str]:
    """All words of a text in lower case, stemmed; number words become figures without commas."""
    if not hasattr(_local, "stemmer"):
        _local.stemmer = Stemmer.Stemmer("english")
    found = [match.group().lower().replace("’", "'") for match in _WORD.finditer(text)]
    plain = [_NUMBERS.get(word, word).replace(",", "").removesuffix("'s") for word in found]
    stemmed: list[str] = _local.stemmer.stemWords(plain)
    return stemmed


def content(text: str) -> list[str]:
    """The stems that carry meaning: those of all words but function words."""
    return [stem for stem in stems(text) if stem not in _EMPTY]


def is_number(stem: str) -> bool:
    """Whether a stem is a figure."""
    return stem[0].isdecimal()


_EMPTY = frozenset(
    stem
    for word in (FUNCTION_WORDS - _TELLING) | {"did", "was", "went", "answer"}
    for stem in stems(word)
    if not is_number(stem)
)
