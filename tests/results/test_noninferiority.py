from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from results.noninferiority import non_inferiority


def test_no_difference_at_all_is_non_inferior_and_any_loss_would_have_shown() -> None:
    scores = np.linspace(0, 1, 50)
    found = non_inferiority(scores, scores, 0.01)
    assert (found.n, found.difference, found.lower, found.detectable) == (50, 0.0, 0.0, 0.0)
    assert found.non_inferior


def test_a_constant_loss_beyond_the_margin_is_inferior_and_within_it_is_not() -> None:
    b = np.linspace(0.2, 0.8, 40)
    assert not non_inferiority(b - 0.05, b, 0.04).non_inferior
    assert non_inferiority(b - 0.05, b, 0.06).non_inferior


def test_too_few_questions_prove_nothing_though_the_means_are_equal() -> None:
    a, b = np.array([1.0, 0, 1, 0, 1, 0]), np.array([0.0, 1, 0, 1, 0, 1])
    found = non_inferiority(a, b, 0.05)
    assert found.difference == 0
    assert not found.non_inferior
    assert found.detectable > 0.5


def test_the_detectable_loss_is_the_standard_error_times_the_two_quantiles() -> None:
    rng = np.random.default_rng(0)
    difference = rng.normal(size=400)
    found = non_inferiority(difference, np.zeros(400), 1.0)
    se = difference.std(ddof=1) / math.sqrt(400)
    assert found.detectable == pytest.approx((1.6448536 + 0.8416212) * se, rel=1e-6)


def test_a_pair_with_a_missing_side_is_left_out() -> None:
    assert non_inferiority([1.0, math.nan, 0], [1.0, 1, math.nan], 0.1).n == 1


@pytest.mark.parametrize("margin", [0.0, -0.1, math.nan])
def test_a_margin_that_is_none_is_refused(margin: float) -> None:
    with pytest.raises(ValueError, match="margin"):
        non_inferiority([1.0], [1.0], margin)


@given(
    hnp.arrays(np.float64, 30, elements=st.floats(0, 1)), hnp.arrays(np.float64, 30, elements=st.floats(0, 1))
)
def test_a_wider_margin_never_makes_it_worse(a: np.ndarray, b: np.ndarray) -> None:
    narrow, wide = (non_inferiority(a, b, margin, resamples=200) for margin in (0.02, 0.3))
    assert wide.non_inferior >= narrow.non_inferior
    assert narrow.lower <= narrow.difference + 1e-12
