"""Cutting transcripts into overlapping chunks."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory.openclaw.chunks import Chunk, chunked

LINES = st.lists(st.text(alphabet="ab ", max_size=30), max_size=12)


def test_lines_are_taken_whole_and_the_next_chunk_begins_with_the_last_of_them() -> None:
    """Ten tokens are 40 characters; a line counts one more. The overlap of 3 tokens needs a line of 12 or more."""
    lines = ["a" * 15, "b" * 15, "c" * 15]
    assert chunked(lines, tokens=10, overlap=3) == [
        Chunk("\n".join(lines[:2]), 0, 1),
        Chunk("\n".join(lines[1:]), 1, 2),
    ]
    assert chunked(lines, tokens=10, overlap=0) == [
        Chunk("\n".join(lines[:2]), 0, 1),
        Chunk(lines[2], 2, 2),
    ]


def test_only_a_line_longer_than_a_chunk_is_cut() -> None:
    assert chunked(["a" * 100], tokens=10, overlap=0) == [
        Chunk("a" * 40, 0, 0),
        Chunk("a" * 40, 0, 0),
        Chunk("a" * 20, 0, 0),
    ]


def test_nothing_makes_no_chunk_and_an_empty_line_one() -> None:
    assert chunked([], 10, 2) == []
    assert chunked([""], 10, 2) == [Chunk("", 0, 0)]


@given(LINES, st.integers(2, 9), st.integers(0, 1))
def test_chunks_cover_every_line_in_order_and_lose_no_character(
    lines: list[str], tokens: int, overlap: int
) -> None:
    chunks = chunked(lines, tokens, overlap)
    covered = {line for chunk in chunks for line in range(chunk.first, chunk.last + 1)}
    assert covered == set(range(len(lines)))
    firsts, lasts = [c.first for c in chunks], [c.last for c in chunks]
    assert firsts == sorted(firsts) and lasts == sorted(lasts)
    without_overlap = "".join(chunk.text for chunk in chunked(lines, tokens, 0))
    assert without_overlap.replace("\n", "") == "".join(lines)


@given(LINES, st.integers(2, 9))
def test_without_overlap_no_chunk_is_longer_than_its_tokens(lines: list[str], tokens: int) -> None:
    assert all(len(chunk.text) <= tokens * 4 for chunk in chunked(lines, tokens, 0))
