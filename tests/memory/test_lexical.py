"""The index of words: equal to bm25s to the bit, however its documents came."""

from __future__ import annotations

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from memory.lexical import LexicalIndex

WORDS = (
    *(
        "the",
        "and",
        "I",
        "cat",
        "cats",
        "running",
        "runs",
        "Straße",
        "ΣΟΦΟΣ",
        "naïve",
        "co-op",
        "x",
        "7",
        "42",
    ),
    *("don't", "e-mail", "tires", "tire"),
)
TEXTS = st.lists(st.lists(st.sampled_from(WORDS), max_size=8).map(" ".join), min_size=1, max_size=9)
QUESTION = st.lists(st.sampled_from([*WORDS, "unheard"]), max_size=6).map(" ".join)
SWITCHES = st.fixed_dictionaries({"stem": st.booleans(), "stop_words": st.booleans()})


def of(texts: list[str], stem: bool = True, stop_words: bool = True) -> LexicalIndex:
    index = LexicalIndex(stem=stem, stop_words=stop_words)
    index.add(texts)
    return index


def reference(texts: list[str], question: str, stem: bool, stop_words: bool) -> list[float]:
    """The scores of bm25s, by its own tokenizing."""

    def words(some: list[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("english") if stem else None
        found: list[list[str]] = bm25s.tokenize(
            some,
            stopwords="en" if stop_words else None,
            stemmer=stemmer,
            return_ids=False,
            show_progress=False,
        )
        return found

    documents, (asked,) = words(texts), words([question])
    if not any(documents) or not asked:
        return [0.0] * len(texts)
    engine = bm25s.BM25()
    engine.index(documents, show_progress=False)
    scores: list[float] = engine.get_scores(asked).tolist()
    return scores


@given(TEXTS, QUESTION, SWITCHES)
def test_scores_are_those_of_bm25s_to_the_bit(
    texts: list[str], question: str, switches: dict[str, bool]
) -> None:
    assert of(texts, **switches).scores(question).tolist() == reference(texts, question, **switches)


@given(st.text(max_size=40), st.text(max_size=12))
def test_any_text_is_cut_into_the_words_that_bm25s_makes_of_it(text: str, question: str) -> None:
    texts = [text, f"{question} {text}", "something else"]
    assert of(texts).scores(question).tolist() == reference(texts, question, True, True)


@given(TEXTS, QUESTION, st.data())
def test_documents_score_the_same_in_any_order_and_added_in_any_portions(
    texts: list[str], question: str, data: st.DataObject
) -> None:
    whole = of(texts).scores(question)
    order = data.draw(st.permutations(range(len(texts))))
    index = LexicalIndex()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(texts)), max_size=4)))
    for start, end in zip([0, *cuts], [*cuts, len(texts)], strict=True):
        index.add([texts[row] for row in order[start:end]])
        index.scores(question)  # asking in between changes nothing
    assert index.scores(question).tolist() == whole[list(order)].tolist()
    assert index.nbytes == of(texts).nbytes


@given(TEXTS, QUESTION, st.data())
def test_a_group_scores_as_one_document_of_all_its_texts(
    texts: list[str], question: str, data: st.DataObject
) -> None:
    size = len(texts)
    drawn = data.draw(st.lists(st.integers(0, 3), min_size=size, max_size=size))
    numbers = {group: number for number, group in enumerate(dict.fromkeys(drawn))}
    groups = np.array([numbers[group] for group in drawn])
    joined = [
        "\n".join(text for text, of_text in zip(texts, groups, strict=True) if of_text == group)
        for group in range(len(numbers))
    ]
    assert of(texts).scores(question, groups).tolist() == of(joined).scores(question).tolist()


def test_a_score_by_hand() -> None:
    """Lucene's BM25: idf ln(1 + (2 - 1 + .5) / (1 + .5)) = ln 2; two of three words, 2.5 words usual."""
    index = of(["zebra zebra lion", "lion tiger"])
    norm = 1.5 * (0.25 + 0.75 * 3 / 2.5)
    assert index.scores("Zebra?").tolist() == pytest.approx([np.log(2) * 2 / (norm + 2), 0])
    assert index.scores("zebra zebra")[0] == pytest.approx(2 * index.scores("zebra")[0])


def test_holders_hold_every_word_and_a_word_that_nobody_holds_leaves_none() -> None:
    index = of(["a cat and a dog", "dogs", "cats, cats"])
    assert index.holders("the dog of the cat").tolist() == [True, False, False]
    assert index.holders("Cats!").tolist() == [True, False, True]
    for nothing in ("cat unheard", "the", ""):
        assert not index.holders(nothing).any()


def test_an_index_of_nothing_or_of_no_words_finds_nothing() -> None:
    assert of([]).scores("cat").shape == (0,)
    index = of(["the", ""])
    assert index.scores("the cat").tolist() == [0, 0]
    index.add(["cat"])
    assert index.scores("cat").argmax() == 2


def test_its_bytes_are_those_of_postings_lengths_and_words() -> None:
    """Two documents of four bytes; cat in both and dog in one at eight; six letters."""
    assert of(["cat cat", "dog cat"]).nbytes == 2 * 4 + 3 * 8 + 6
