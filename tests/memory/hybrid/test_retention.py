"""What goes first, by hand: entities, then vectors, and turns last, by evidence of use."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.hybrid.retention import Holdings, chosen


def held(**changes: list[int]) -> Holdings:
    """Three entities, and three turns of which the second was recalled twice."""
    columns = {
        "entities": [10, 20, 30],
        "entity_uses": [0, 2, 0],
        "mentions": [5, 1, 1],
        "vectors": [8, 8, 0],
        "turns": [100, 100, 50],
        "uses": [0, 2, 0],
        "links": [4, 0, 1],
    }
    return Holdings(**{name: np.array(column, np.intp) for name, column in {**columns, **changes}.items()})


def stay(excess: int, holdings: Holdings | None = None) -> list[list[int]]:
    kept = chosen(holdings or held(), excess)
    return [np.flatnonzero(mask).tolist() for mask in (kept.entities, kept.vectors, kept.turns)]


@pytest.mark.parametrize(
    ("excess", "entities", "vectors", "turns"),
    [
        (0, [0, 1, 2], [0, 1, 2], [0, 1, 2]),
        (30, [0, 1], [0, 1, 2], [0, 1, 2]),  # of those never used, the least mentioned
        (31, [1], [0, 1, 2], [0, 1, 2]),
        (60, [], [0, 1, 2], [0, 1, 2]),
        (61, [], [1], [0, 1, 2]),  # the third turn has none, and goes along with the least linked
        (76, [], [], [0, 1, 2]),
        (77, [], [], [0, 1]),  # one link in 50 bytes is less than four in 100
        (127, [], [], [1]),
        (999, [], [], []),
    ],
)
def test_what_goes_for_so_many_bytes(
    excess: int, entities: list[int], vectors: list[int], turns: list[int]
) -> None:
    assert stay(excess) == [entities, vectors, turns]


def test_of_equal_ones_the_oldest_goes() -> None:
    same = held(uses=[1, 1, 1], links=[1, 1, 1], turns=[10, 10, 10], vectors=[0, 0, 0], entities=[0, 0, 0])
    assert stay(15, same)[2] == [2]


@given(st.integers(0, 400), st.integers(0, 400))
def test_who_forgets_more_keeps_nothing_that_the_other_lost(less: int, more: int) -> None:
    less, more = sorted((less, more))
    for few, many in zip(stay(more), stay(less), strict=True):
        assert set(few) <= set(many)


@given(st.integers(0, 326))
def test_as_many_bytes_go_as_have_to(excess: int) -> None:
    holdings, kept = held(), chosen(held(), excess)
    gone = sum(
        int(sizes[~mask].sum())
        for sizes, mask in (
            (holdings.entities, kept.entities),
            (holdings.vectors, kept.vectors),
            (holdings.turns, kept.turns),
        )
    )
    assert gone >= excess
