"""Lexical search with BM25 over documents that come one at a time or all at once.

`bm25s` weighs every posting when an index is built, and cannot add to it: each new document changes the number of
documents, their average length, and so every weight. Here a posting holds a count alone, and only the postings of a
question's words are weighed, when it is asked. Adding a document so costs as much as it has words, whatever is there
already, and nothing is ever merged or built again. Scores are those of `bm25s.BM25()` to the bit (Lucene's variant with
k1 1.5 and b 0.75); words are made by its tokenizer.
"""

from __future__ import annotations

import math
from array import array
from collections import Counter
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
import Stemmer
from bm25s.tokenization import Tokenizer

from memory.models import Vectors
from memory.vectors import Doubles, Mask, Rows

K1, B = 1.5, 0.75
"""How slowly a word's repetitions stop to count, and how much a document's length counts; the defaults of bm25s."""
_POSTING = 8
"""Bytes of a posting: its document and its count."""


class LexicalIndex:
    """An inverted index. Documents are numbered in the order they are added in."""

    def __init__(self, *, stem: bool = True, stop_words: bool = True, k1: float = K1) -> None:
        """An index without documents.

        Args:
            stem: Whether words are compared by their Snowball stem.
            stop_words: Whether English stop words are left out.
            k1: How slowly a word's repetitions stop to count.
        """
        self._k1 = k1
        self._tokenizer = Tokenizer(
            stopwords="en" if stop_words else None, stemmer=Stemmer.Stemmer("english") if stem else None
        )
        # Of each word, by its number: the documents that hold it, in order, and how often each does. They are arrays of
        # the standard library because these grow in place.
        self._documents: list[array[int]] = []
        self._counts: list[array[int]] = []
        self._lengths = array("i")
        self._words = 0

    def __len__(self) -> int:
        """How many documents there are."""
        return len(self._lengths)

    @property
    def nbytes(self) -> int:
        """Bytes of postings, lengths and vocabulary; not those of the objects that hold them, nor room to grow."""
        vocabulary = self._tokenizer.get_vocab_dict()
        postings = sum(map(len, self._documents))
        return postings * _POSTING + 4 * len(self) + sum(len(word.encode()) for word in vocabulary)

    def document_bytes(self) -> Rows:
        """Bytes of each document's postings and length: what of `nbytes` goes with it."""
        found = np.full(len(self), 4, np.intp)
        for documents in self._documents:
            found[np.frombuffer(documents, np.int32)] += _POSTING
        return found

    def add(self, texts: Iterable[str]) -> None:
        """Add documents. One without words is a document all the same: it counts in what is usual."""
        for words in self._tokenizer.streaming_tokenize(texts, update_vocab=True, allow_empty=False):
            document = len(self._lengths)
            for word, count in Counter(words).items():
                if word == len(self._documents):  # the tokenizer numbers words as it meets them
                    self._documents.append(array("i"))
                    self._counts.append(array("i"))
                self._documents[word].append(document)
                self._counts[word].append(count)
            self._lengths.append(len(words))
            self._words += len(words)

    def scores(self, question: str, groups: Rows | None = None) -> Vectors:
        """BM25 of every document, or of groups of documents, each taken as one long document.

        Args:
            question: A word that it repeats counts as often.
            groups: The group of each document; groups are numbered from 0, and none is left out. None: each
                document is its own.

        Returns:
            Scores by document, or by group; zero where no word is shared.
        """
        lengths = self._all_lengths(groups)
        found = np.zeros(len(lengths), np.float32)
        if not self._words:
            return found
        norms = self._k1 * ((1 - B) + B * lengths / (self._words / len(lengths)))
        for word in self._words_of(question):
            documents, counts = self._postings(word, groups)
            idf = np.float32(math.log(1 + (len(lengths) - len(documents) + 0.5) / (len(documents) + 0.5)))
            found[documents] += (idf * (counts / (norms[documents] + counts))).astype(np.float32)
        return found

    def holders(self, question: str) -> Mask:
        """Which documents hold every word of a question; none does of one without words."""
        split = set(self._tokenizer.splitter(question.lower())) - set(self._tokenizer.stopwords)
        numbers = [self._words_of(word) for word in split]
        held = np.zeros(len(self), np.intp)
        if not numbers or [] in numbers:  # a word that no document has
            return held > 0
        wanted = {number for (number,) in numbers}
        for number in wanted:
            held[np.frombuffer(self._documents[number], np.int32)] += 1
        return np.asarray(held == len(wanted))

    def _all_lengths(self, groups: Rows | None) -> Doubles:
        """Words of each document, or of each group together."""
        lengths = np.frombuffer(self._lengths, np.int32).astype(np.float64)
        return lengths if groups is None else _sums(groups, lengths)

    def _postings(self, word: int, groups: Rows | None) -> tuple[npt.NDArray[np.integer], Doubles]:
        """The documents, or the groups, that hold a word, in order, and how often each does."""
        documents = np.frombuffer(self._documents[word], np.int32)
        counts = np.frombuffer(self._counts[word], np.int32)
        if groups is None:
            return documents, counts.astype(np.float64)
        sums = _sums(groups[documents], counts)
        holding = np.flatnonzero(sums)
        return holding, sums[holding]

    def _words_of(self, question: str) -> list[int]:
        """Numbers of a question's words, as often as it has them; those that no document has are left out."""
        (words,) = self._tokenizer.streaming_tokenize([question], update_vocab=False, allow_empty=False)
        return [int(word) for word in words]


def _sums(groups: Rows, values: npt.NDArray[np.int32] | Doubles) -> Doubles:
    """The sum of the values in each group."""
    return np.asarray(np.bincount(groups, weights=values), np.float64)
