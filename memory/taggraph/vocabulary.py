"""When two values are one tag, and which words a value has: one normalisation for graph, question and BM25."""

from __future__ import annotations

import re
import unicodedata

import Stemmer
from bm25s.stopwords import STOPWORDS_EN

from memory.taggraph.settings import Normalisation
from memory.titles import singular

_APOSTROPHE = re.compile("['’]s?\\b")
_WORD = re.compile(r"\d{4}-\d{2}(?:-\d{2})?(?!\w)|\w+")
_STOP_WORDS = frozenset(STOPWORDS_EN)

Words = tuple[str, ...]


class Vocabulary:
    """Reads values as words; equal ones are read once.

    It is used by one thread at a time, as a stemmer must be.
    """

    def __init__(self, normalisation: Normalisation) -> None:
        self._normalisation = normalisation
        self._stemmer = Stemmer.Stemmer("english")
        self._read: dict[str, Words] = {}

    def words(self, value: str) -> Words:
        """The words of a value. Two values with the same words are the same tag; a value without any is none.

        Without normalisation a word is what stands between blanks. Else case, Unicode form, punctuation and a
        possessive ending do not count, nor do stop words beside others; a date in ISO 8601 is one word.
        """
        found = self._read.get(value)
        if found is None:
            found = self._read[value] = self._words(value)
        return found

    def _words(self, value: str) -> Words:
        if self._normalisation == "none":
            return tuple(value.split())
        folded = unicodedata.normalize("NFKC", value).casefold()
        all_words = _WORD.findall(_APOSTROPHE.sub("", folded))
        kept = [word for word in all_words if word not in _STOP_WORDS] or all_words
        if self._normalisation == "casefold":
            return tuple(kept)
        kept = list(map(singular, kept))
        return tuple(self._stemmer.stemWords(kept) if self._normalisation == "stem" else kept)
