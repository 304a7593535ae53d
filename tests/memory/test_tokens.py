"""Counting and cutting by o200k tokens."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from memory.tokens import count, cut, sendable


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


def test_a_turn_of_a_megabyte_is_counted_and_left_out_of_a_full_context() -> None:
    from memory.conversation import Query, Session, Turn
    from memory.protocol import Models
    from memory.systems.full_context import FullContext, FullContextSettings
    from tests.memory.fake_models import models

    given: Models = models("{}")
    memory = FullContext(FullContextSettings(max_tokens=50), given)
    turns = (Turn("h#0.0", "user", "user", "x " * 600_000), Turn("h#0.1", "user", "user", "short"))
    memory.remember(Session("s", "h", 0, None, turns), {})
    recall = memory.recall(Query("q", "h", "?"))
    assert recall.context == "short"
    assert recall.flags == ("context_cut",)
