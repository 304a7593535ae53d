import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.agreement import agreement


def test_kappa_of_a_worked_example() -> None:
    # Of 50 answers both call 20 right and 15 wrong, A alone 5 right, B alone 10: they agree on 35 of 50. By chance both
    # would call 25/50 x 30/50 right and 25/50 x 20/50 wrong, so half: kappa is (0.7 - 0.5) / (1 - 0.5).
    a = [1] * 20 + [0] * 15 + [1] * 5 + [0] * 10
    b = [1] * 20 + [0] * 15 + [0] * 5 + [1] * 10
    found = agreement(a, b, [str(place) for place in range(50)])
    assert (found.n, found.missing) == (50, 0)
    assert found.agreement.value == 0.7
    assert found.kappa.value == pytest.approx(0.4)
    assert found.kappa.low < 0.4 < found.kappa.high


def test_a_verdict_that_is_missing_is_counted_and_never_a_disagreement() -> None:
    found = agreement([1, 0, math.nan], [1, 0, 1], ["x", "y", "z"])
    assert (found.n, found.missing, found.agreement.value, found.kappa.value) == (2, 1, 1, 1)


def test_two_raters_who_always_say_the_same_one_thing_have_no_kappa() -> None:
    found = agreement([1, 1], [1, 1], ["x", "y"])
    assert found.agreement.value == 1
    assert math.isnan(found.kappa.value) and math.isnan(found.kappa.low)


def test_without_verdicts_and_with_one_question_there_is_no_interval() -> None:
    assert math.isnan(agreement([], [], []).agreement.value)
    assert math.isnan(agreement([1, 0], [1, 1], ["x", "x"]).agreement.low)


def test_verdicts_of_one_question_are_drawn_together() -> None:
    a, b = [1, 0] * 20, [1, 1] * 20
    apart = agreement(a, b, [str(place) for place in range(40)]).agreement
    together = agreement(a, b, [str(place // 2) for place in range(40)]).agreement
    assert (together.low, together.high) == (0.5, 0.5), "each question has one agreement and one disagreement"
    assert apart.high - apart.low > 0.2


def test_lengths_that_differ_are_refused() -> None:
    with pytest.raises(ValueError, match="one unit a pair"):
        agreement([1, 0], [1, 0], ["x"])


@given(st.lists(st.tuples(st.booleans(), st.booleans(), st.sampled_from("abcd")), max_size=20))
def test_raters_may_change_places_and_kappa_never_exceeds_one(rows: list[tuple[bool, bool, str]]) -> None:
    a, b, units = [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]
    found, other = agreement(a, b, units, resamples=100), agreement(b, a, units, resamples=100)
    assert found.agreement.value == pytest.approx(other.agreement.value, nan_ok=True)
    assert found.kappa.value == pytest.approx(other.kappa.value, nan_ok=True)
    assert math.isnan(found.kappa.value) or found.kappa.value <= found.agreement.value <= 1
