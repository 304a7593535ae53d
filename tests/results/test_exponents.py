"""Exponents of power laws: by hand, of exact laws, under noise; and Table 4 as text and numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.exponents import Exponent, Growth, fit_exponent, table_4

SIZES = [2.0**power for power in range(6)]


def test_the_slope_and_its_interval_are_those_worked_out_by_hand() -> None:
    """In powers of two, sizes 0 to 5 and costs 0 1 1 3 4 5 about their means -2.5 ... 2.5 and 7/3.

    Sxx = 17.5, Sxy = 18, so b = 36/35; Syy = 52 - 196/6 = 58/3, and the residuals' squares sum to 58/3 - 18²/17.5 =
    86/105. The slope's standard error is sqrt(86/105 / 4 / 17.5), and t on 4 degrees of freedom 2.776445.
    """
    found = fit_exponent(SIZES, [2.0**power for power in (0, 1, 1, 3, 4, 5)])
    half = 2.7764451 * math.sqrt(86 / 105 / 4 / 17.5)
    assert found.value == pytest.approx(36 / 35)
    assert (found.low, found.high) == pytest.approx((36 / 35 - half, 36 / 35 + half))


@given(st.floats(-3, 3), st.floats(1e-9, 1e9), st.integers(6, 12))
def test_the_exponent_of_an_exact_power_law_is_found_whatever_its_unit(power, unit, count) -> None:
    sizes = 1.7 ** np.arange(1, count + 1)
    found = fit_exponent(sizes, unit * sizes**power)
    assert found.value == pytest.approx(power, abs=1e-9)
    assert found.high - found.low == pytest.approx(0, abs=1e-6)


def test_a_cost_that_does_not_grow_has_exponent_zero() -> None:
    found = fit_exponent(SIZES, [0.25] * 6)
    assert (found.value, found.low, found.high) == pytest.approx((0, 0, 0))


def test_the_interval_widens_with_the_noise() -> None:
    noise = np.random.default_rng(0).normal(size=6)
    widths = []
    for spread in (0.0, 0.1, 0.4):
        found = fit_exponent(SIZES, SIZES * np.exp(spread * noise))
        widths.append(found.high - found.low)
    assert widths[0] < widths[1] < widths[2]


def test_nineteen_of_twenty_intervals_hold_the_true_exponent() -> None:
    random = np.random.default_rng(1)
    sizes = np.repeat(SIZES, 2)
    held = 0
    for _ in range(1_000):
        found = fit_exponent(sizes, sizes**1.5 * np.exp(0.2 * random.normal(size=12)))
        held += found.low <= 1.5 <= found.high
    assert 930 <= held <= 970  # 950, three standard deviations of 6.9


@pytest.mark.parametrize(
    ("sizes", "costs", "message"),
    [
        (SIZES[:5], SIZES[:5], "at least 6 different sizes, not 5"),
        ([1.0, 1, 2, 3, 4, 5], SIZES, "at least 6 different sizes, not 5"),
        (SIZES, SIZES[:5], "no pairs"),
        ([0.0, *SIZES[1:]], SIZES, "positive"),
        (SIZES, [*SIZES[:5], math.inf], "finite"),
        (SIZES, [*SIZES[:5], -1.0], "positive"),
    ],
)
def test_what_no_exponent_can_be_fitted_to_is_refused(sizes, costs, message) -> None:
    with pytest.raises(ValueError, match=message):
        fit_exponent(sizes, costs)


def test_table_4_has_the_papers_cost_beside_the_exponent_found() -> None:
    scan = Growth(
        "Candidate retrieval", "O(qNd)", "nodes", 1_000, 64_000, 1.0, 0.0125, Exponent(0.98, 0.95, 1.01)
    )
    save = Growth("Save", "", "nodes", 1_000, 64_000, None, 2.0, Exponent(1.0, 0.9, 1.1))
    table = table_4([scan, save])
    assert "| Candidate retrieval | O(qNd) | nodes | 1,000 | 64,000 | 1 | 0.98 |" in table.markdown()
    assert "| Save | – | nodes | 1,000 | 64,000 | – | 1.00 |" in table.markdown()
    first, second = table.arrow().to_pylist()
    assert (first["exponent"], first["low"], first["high"], first["seconds"]) == (0.98, 0.95, 1.01, 0.0125)
    assert (first["stated"], second["stated"]) == (1.0, None)
