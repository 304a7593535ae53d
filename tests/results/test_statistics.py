import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from results.statistics import (
    Proportion,
    estimates,
    holm,
    mcnemar,
    paired_differences,
    wilson,
)

NAN = math.nan
SCORES = st.lists(st.floats(0, 1), min_size=2, max_size=30)
FEW = 300


def estimate(values, clusters=None, **settings):
    return estimates({"x": values}, clusters, **settings)["x"]


def difference(a, b, clusters=None, **settings):
    return paired_differences({"x": a}, {"x": b}, clusters, **settings)["x"]


# --- worked examples ---


def test_mean_and_standard_error_by_hand():
    found = estimate([0.0, 1.0, 1.0, 0.0])
    assert (found.n, found.units, found.mean) == (4, 4, 0.5)
    assert found.sem == pytest.approx(math.sqrt(4 * 0.25 / 3) / 2)


def test_paired_difference_by_hand_over_two_questions():
    # differences 1 and 0: a resample is 0, 1/2, 1/2 or 1, so a quarter of them is at zero and none below
    found = difference([1.0, 1.0], [0.0, 1.0], resamples=20_000)
    assert (found.a, found.b, found.difference, found.low, found.high) == (1.0, 0.5, 0.5, 0.0, 1.0)
    assert found.p == pytest.approx(2 * 0.25, abs=0.02)
    assert not found.significant


def test_conversations_are_drawn_whole():
    # one conversation all right, one all wrong: a resample is 0, 1/2, 1/2 or 1 though there are 100 questions
    values, clusters = [1.0] * 50 + [0.0] * 50, ["x"] * 50 + ["y"] * 50
    together, apart = estimate(values, clusters), estimate(values)
    assert (together.n, together.units) == (100, 2)
    assert (together.low, together.high) == (0.0, 1.0)
    assert (together.mean, apart.mean) == (0.5, 0.5)
    assert apart.high - apart.low < 0.25
    assert together.sem == pytest.approx(math.sqrt(2 * (25**2 * 2)) / 100)


def test_conversations_of_unequal_size_weigh_by_their_questions():
    found = estimate([1.0, 1.0, 1.0, 0.0], ["x", "x", "x", "y"])
    assert found.mean == 0.75


def test_wilson_by_hand():
    # 1 of 2 at 95%: centre 1/2, half-width z / sqrt(2 + z^2) / 2
    z = stats.norm.ppf(0.975)
    found = wilson(1, 2)
    half = z / math.sqrt(2 + z * z) / 2
    assert (found.share, found.low, found.high) == (0.5, pytest.approx(0.5 - half), pytest.approx(0.5 + half))


def test_mcnemar_by_hand():
    # 1 question only A has right, 5 only B: twice (C(6,0) + C(6,1)) / 64
    a = [1, 0, 0, 0, 0, 0, 1, 0, NAN, 1]
    b = [0, 1, 1, 1, 1, 1, 1, 0, 1, NAN]
    found = mcnemar(a, b)
    assert (found.n, found.missing, found.only_a, found.only_b) == (8, 2, 1, 5)
    assert found.p == pytest.approx(2 * 7 / 64)


def test_mcnemar_of_equal_verdicts_and_of_none():
    assert mcnemar([1, 0], [1, 0]).p == 1.0
    assert mcnemar([], []).p == 1.0


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


def test_holm_leaves_what_has_no_p_out_of_the_family():
    adjusted = holm([NAN, 0.03, 0.02])
    assert math.isnan(adjusted[0])
    assert adjusted[1:] == pytest.approx([0.04, 0.04])


# --- against other implementations ---


def test_the_interval_agrees_with_scipy():
    values = np.random.default_rng(3).beta(2, 5, 200)
    ours = estimate(values)
    theirs = stats.bootstrap((values,), np.mean, n_resamples=10_000, method="percentile", rng=4)
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.003)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.003)
    assert ours.sem == pytest.approx(stats.sem(values))


def test_the_paired_interval_agrees_with_scipy():
    random = np.random.default_rng(5)
    a, b = random.random(300), random.random(300)
    ours = difference(a, b)
    theirs = stats.bootstrap(
        (a, b),
        lambda x, y, axis: (x - y).mean(axis),
        paired=True,
        n_resamples=10_000,
        method="percentile",
        rng=6,
    )
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=0.004)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=0.004)


def test_resampling_in_chunks_is_the_same_resampling(monkeypatch):
    values = np.random.default_rng(7).random(50)
    whole = estimate(values)
    monkeypatch.setattr("results.statistics._CHUNK", 50 * 777)
    assert estimate(values) == whole


# --- nothing, one, missing ---


@pytest.mark.parametrize("values", [[], [NAN, NAN]])
def test_without_figures_everything_is_nan_and_counted(values):
    found = estimate(values)
    assert (found.n, found.missing, found.units) == (0, len(values), 0)
    assert all(map(math.isnan, (found.mean, found.sem, found.low, found.high)))
    pair = difference(values, values)
    assert (pair.n, pair.missing) == (0, len(values))
    assert all(map(math.isnan, (pair.a, pair.difference, pair.low, pair.p)))
    assert not pair.significant


def test_one_question_has_a_mean_and_no_interval():
    found = estimate([0.25])
    assert (found.n, found.mean) == (1, 0.25)
    assert all(map(math.isnan, (found.sem, found.low, found.high)))
    assert math.isnan(difference([1.0], [0.0]).p)


def test_one_conversation_has_a_mean_and_no_interval():
    found = difference([1.0, 0.0, 1.0], [0.0, 0.0, 0.0], ["x", "x", "x"])
    assert (found.n, found.units) == (3, 1)
    assert found.difference == pytest.approx(2 / 3)
    assert math.isnan(found.low)
    assert math.isnan(found.p)


def test_a_pair_with_a_missing_side_is_left_out_of_both_means():
    found = difference([1.0, 0.0, NAN, 1.0], [0.0, NAN, 1.0, 1.0])
    assert (found.n, found.missing) == (2, 2)
    assert (found.a, found.b, found.difference) == (1.0, 0.5, 0.5)


def test_a_metric_s_result_does_not_depend_on_the_metrics_beside_it():
    random = np.random.default_rng(8)
    a, b, holey = random.random(40), random.random(40), np.where(np.arange(40) < 3, NAN, random.random(40))
    together = paired_differences({"x": a, "y": holey}, {"x": b, "y": b}, resamples=FEW)
    assert together["x"] == difference(a, b, resamples=FEW)
    assert together["y"] == difference(holey, b, resamples=FEW)
    assert together["y"] == replace(difference(holey[3:], b[3:], resamples=FEW), missing=3)


def test_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="one figure a question"):
        difference([1.0, 0.0], [1.0])
    with pytest.raises(ValueError, match="one figure a question"):
        estimate([1.0, 0.0], ["x"])


def test_a_verdict_that_is_no_verdict_is_refused():
    with pytest.raises(ValueError, match="neither 1 nor 0"):
        mcnemar([0.5], [1.0])


@pytest.mark.parametrize(("successes", "n"), [(3, 2), (-1, 2)])
def test_impossible_counts_are_refused(successes, n):
    with pytest.raises(ValueError, match="successes"):
        wilson(successes, n)


def test_wilson_of_nothing_is_nan():
    found = wilson(0, 0)
    assert found.n == 0
    assert all(map(math.isnan, (found.share, found.low, found.high)))


# --- properties ---


@given(st.integers(1, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_stays_within_bounds_and_contains_the_share(count):
    found: Proportion = wilson(*count)
    assert 0 <= found.low <= found.share <= found.high <= 1
    assert found.low < found.high


@given(SCORES)
@settings(max_examples=30)
def test_a_condition_does_not_differ_from_itself(values):
    found = difference(values, values, resamples=FEW)
    assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)


@given(
    SCORES.flatmap(
        lambda a: st.tuples(st.just(a), st.lists(st.floats(0, 1), min_size=len(a), max_size=len(a)))
    )
)
@settings(max_examples=30)
def test_swapping_the_sides_mirrors_the_result(sides):
    a, b = sides
    forth, back = difference(a, b, resamples=FEW), difference(b, a, resamples=FEW)
    assert forth.difference == pytest.approx(-back.difference)
    assert (forth.low, forth.high) == (pytest.approx(-back.high), pytest.approx(-back.low))
    assert forth.p == back.p
    assert forth.low - 1e-9 <= forth.high


@given(SCORES)
@settings(max_examples=30)
def test_conversations_of_one_question_are_questions(values):
    assert estimate(values, list(range(len(values))), resamples=FEW) == estimate(values, resamples=FEW)


@given(SCORES)
@settings(max_examples=30)
def test_the_interval_lies_within_the_figures(values):
    found = estimate(values, resamples=FEW)
    assert min(values) - 1e-9 <= found.low <= found.high <= max(values) + 1e-9


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_raises_keeps_the_order_and_stays_a_probability(raw):
    adjusted = holm(raw)
    assert all(before <= after <= 1 for before, after in zip(raw, adjusted, strict=True))
    ranked = [after for _, after in sorted(zip(raw, adjusted, strict=True))]
    assert ranked == sorted(ranked)


@given(st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=40))
def test_mcnemar_is_symmetric_and_a_probability(verdicts):
    a, b = [x for x, _ in verdicts], [y for _, y in verdicts]
    forth, back = mcnemar(a, b), mcnemar(b, a)
    assert 0 <= forth.p <= 1
    assert (forth.only_a, forth.only_b, forth.p) == (back.only_b, back.only_a, back.p)


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    values = np.random.default_rng(9).random(60)
    assert estimate(values, seed=1) == estimate(values, seed=1)
    assert estimate(values, seed=1).low != estimate(values, seed=2).low
