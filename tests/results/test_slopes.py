"""Slopes over steps, by hand and against NumPy's least squares."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from results.slopes import slope


def test_a_line_by_hand():
    found = slope([1, 2, 3, 1, 2, 3], [0.0, 0.1, 0.2, 0.2, 0.3, 0.4], list("aaabbb"), resamples=200)
    assert (found.n, found.units) == (6, 2)
    assert found.slope == pytest.approx(0.1)
    assert (found.low, found.high) == pytest.approx((0.1, 0.1))


def test_an_entry_that_is_better_throughout_and_alone_goes_far_is_no_rise_within_entries():
    steps, figures, entries = [1, 2, 1, 2, 3, 4], [0.1, 0.1, 0.5, 0.5, 0.5, 0.5], list("aabbbb")
    # Sums of products about the means 13/6 and 2.2/6: 8/15, and of squares: 41/6.
    assert slope(steps, figures, entries, resamples=100).slope == pytest.approx((8 / 15) / (41 / 6))
    assert slope(steps, figures, entries, within=True, resamples=100).slope == pytest.approx(0, abs=1e-12)


def test_a_missing_figure_is_left_out_and_not_zero():
    found = slope([1, 2, 3], [0.1, math.nan, 0.3], ["a", "b", "c"], resamples=100)
    assert (found.n, found.units) == (2, 2)
    assert found.slope == pytest.approx(0.1)


def test_one_entry_has_a_slope_and_no_interval_and_one_step_has_neither():
    alone = slope([1, 2], [0.0, 0.5], ["a", "a"], resamples=100)
    assert alone.slope == pytest.approx(0.5)
    assert math.isnan(alone.low)
    assert math.isnan(slope([2, 2], [0.0, 0.5], ["a", "b"], resamples=100).slope)
    nothing = slope([1], [math.nan], ["a"])
    assert nothing.n == 0
    assert math.isnan(nothing.slope)


def test_arrays_of_different_length_are_refused():
    with pytest.raises(ValueError, match="as many"):
        slope([1, 2], [0.1], ["a", "b"])


POINTS = st.lists(
    st.tuples(st.integers(1, 9), st.floats(-1, 1, allow_subnormal=False), st.sampled_from("abc")),
    min_size=2,
    max_size=30,
)


@given(POINTS)
def test_the_slope_is_that_of_least_squares(points):
    x, y, entries = map(list, zip(*points, strict=True))
    assume(len(set(x)) > 1)
    assert slope(x, y, entries, resamples=10).slope == pytest.approx(np.polyfit(x, y, 1)[0], abs=1e-9)


@given(POINTS)
def test_within_entries_it_is_that_of_a_regression_with_a_level_for_each(points):
    x, y, entries = map(list, zip(*points, strict=True))
    levels = [[float(entry == name) for name in sorted(set(entries))] for entry in entries]
    design = np.column_stack([x, levels])
    assume(np.linalg.matrix_rank(design) == design.shape[1])
    expected = np.linalg.lstsq(design, np.array(y), rcond=None)[0][0]
    assert slope(x, y, entries, within=True, resamples=10).slope == pytest.approx(expected, abs=1e-9)
