"""Counting and cutting by o200k tokens."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.models.tokens import count, cut, sendable


def test_counts_are_those_of_o200k() -> None:
    assert [count(text) for text in ("", "hello world", "<|endoftext|>", "antidisestablishmentarianism")] == [
        0,
        2,
        7,
        6,
    ]


def test_texts_beyond_the_tokenizers_own_limit_are_counted() -> None:
    assert count("word " * 250_000) >= 250_000


@settings(deadline=None)  # the first call loads the vocabulary
@given(st.text(max_size=60), st.integers(1, 20))
def test_a_cut_text_is_a_beginning_within_the_limit(text: str, limit: int) -> None:
    kept, was_cut = cut(text, limit)
    assert text.startswith(kept)
    assert was_cut == (count(text) > limit)
    assert was_cut or kept == text
    # Tokens at a new end may split once more.
    assert count(kept) <= limit + 2


@settings(deadline=None)
@given(st.text(st.characters(codec=None, exclude_categories=[]), max_size=20))
def test_sendable_text_can_always_be_encoded(text: str) -> None:
    sendable(text).encode()


def test_sendable_leaves_whole_text_alone() -> None:
    assert sendable("é😀\x00\n") == "é😀\x00\n"
    assert sendable("\ud83d\ude00") == "😀"
