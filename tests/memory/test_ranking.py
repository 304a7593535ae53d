"""Rankings out of scores."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.ranking import best_first, best_groups_first, best_of_groups, min_max, reciprocal_ranks

SCORES = st.lists(st.sampled_from([-np.inf, -1.0, 0.0, 0.5, 1.0, 2.0]), max_size=12)


@given(SCORES, st.integers(-1, 14))
def test_the_best_are_the_beginning_of_the_whole_order(scores: list[float], count: int) -> None:
    whole = sorted(range(len(scores)), key=lambda row: (-scores[row], row))
    assert best_first(np.array(scores), count).tolist() == whole[: max(count, 0)]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sampled_from([0.0, 1.0, 2.0])), min_size=1), st.integers(1, 9)
)
def test_groups_come_by_their_score_and_rows_inside_them_by_their_own(
    rows: list[tuple[int, float]], count: int
) -> None:
    numbers = {group: number for number, group in enumerate(dict.fromkeys(group for group, _ in rows))}
    groups = np.array([numbers[group] for group, _ in rows])
    scores = np.array([score for _, score in rows])
    of_groups = np.array([float(number % 2) for number in range(len(numbers))])
    whole = sorted(range(len(rows)), key=lambda i: (-of_groups[groups[i]], groups[i], -scores[i], i))
    assert best_groups_first(of_groups, groups, scores, count).tolist() == whole[:count]


def test_a_group_has_the_score_of_its_best_row() -> None:
    scores = np.array([0.1, -np.inf, 0.4, -np.inf])
    assert best_of_groups(scores, np.array([0, 1, 0, 2])).tolist() == [0.4, -np.inf, -np.inf]
    assert best_of_groups(np.zeros(0), np.zeros(0, np.intp)).shape == (0,)


def test_scores_are_scaled_between_the_lowest_and_the_highest_that_are_known() -> None:
    assert min_max(np.array([2.0, -np.inf, 4.0, 3.0])).tolist() == [0, 0, 1, 0.5]
    assert min_max(np.array([3.0, 3.0])).tolist() == [0, 0]
    assert min_max(np.array([-np.inf])).tolist() == [0]


def test_a_reciprocal_rank_by_hand() -> None:
    assert reciprocal_ranks(np.array([0.2, 0.9, -np.inf, 0.2])) == pytest.approx([1 / 62, 1 / 61, 0, 1 / 63])
