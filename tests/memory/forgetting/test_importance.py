from math import exp, log

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from memory.forgetting.importance import PROFILES, TERMS, ImportanceSettings, score, terms
from memory.forgetting.states import Clock
from tests.memory.forgetting.states import CLOCK, NEVER, any_states, days_ago, states

PUBLISHED = ImportanceSettings()
PAPER = ImportanceSettings(**PROFILES["paper"])
T = CLOCK.turns


def one(settings=PUBLISHED, clock=CLOCK, most=None, **columns):
    """Terms and score of one item; `most` gives a second item that has that many accesses."""
    n = 1 if most is None else 2
    column = {name: [value] * n for name, value in columns.items()}
    if most is not None:
        column["access_count"] = [columns.get("access_count", 0), most]
    held = states(n, **column)
    found = score(held, clock, settings)
    return {name: values[0] for name, values in found.terms.items()} | {"score": found.score[0]}


def test_a_worked_example_by_hand():
    # Accessed 90 days and 1,000 turns ago, for the third time; the hub has 5,000 accesses; four edges.
    found = one(
        most=5_000,
        created_at=days_ago(400),
        last_accessed_at=days_ago(90),
        access_count=3,
        turns_at_creation=100,
        turns_at_last_access=T - 1_000,
        degree=4,
    )
    assert found["recency"] == 0.5
    assert found["frequency"] == pytest.approx(log(4) / log(5_002), abs=1e-15)
    assert found["centrality"] == pytest.approx(log(5) / log(11), abs=1e-15)
    assert found["turns"] == 0.5
    by_hand = 0.35 * 0.5 + 0.25 * log(4) / log(5_002) + 0.20 * log(5) / log(11) + 0.20 * 0.5
    assert found["score"] == round(by_hand, 6)


def test_an_item_that_was_never_accessed_goes_by_its_creation():
    found = one(created_at=days_ago(180), turns_at_creation=T - 2_000)
    assert (found["recency"], found["frequency"], found["turns"]) == (0.25, 0.0, 0.25)


def test_recency_of_what_was_never_accessed_can_be_zero():
    zero = ImportanceSettings(recency_fallback="zero")
    assert one(zero, created_at=days_ago(0))["recency"] == 0.0
    assert one(zero, last_accessed_at=days_ago(90), access_count=1, turns_at_last_access=T)["recency"] == 0.5


def test_turns_count_from_the_last_access_in_the_code_and_from_creation_in_the_paper():
    columns = {"access_count": 1, "turns_at_last_access": T, "turns_at_creation": T - 1_000}
    assert one(PUBLISHED, **columns)["turns"] == 1.0
    assert one(PAPER, **columns)["turns"] == 0.5


def test_the_most_accessed_item_has_frequency_one_only_with_the_papers_denominator():
    assert one(PUBLISHED, access_count=6)["frequency"] == pytest.approx(log(7) / log(8))
    assert one(PAPER, access_count=6)["frequency"] == 1.0
    assert one(PAPER, access_count=0)["frequency"] == 0.0


def test_centrality_saturates_at_degree_ten_unless_the_cap_is_off():
    free = ImportanceSettings(centrality_cap=False)
    assert one(degree=10)["centrality"] == 1.0 == one(degree=5_000)["centrality"]
    assert one(free, degree=120)["centrality"] == pytest.approx(log(121) / log(11))
    assert one(ImportanceSettings(centrality_base=101), degree=100)["centrality"] == 1.0


def test_dates_and_turns_after_the_clock_count_as_now():
    found = one(created_at=days_ago(-30), turns_at_creation=T + 5)
    assert (found["recency"], found["turns"]) == (1.0, 1.0)


def test_an_unknown_date_gives_no_recency():
    assert one(created_at=NEVER)["recency"] == 0.0
    assert one(clock=Clock(NEVER, T))["recency"] == 0.0
    assert one(created_at=days_ago(90), access_count=1, turns_at_last_access=T)["recency"] == 0.5


def test_no_items_have_no_scores():
    assert score(states(0), CLOCK, PUBLISHED).score.shape == (0,)


def test_rounding_to_six_digits_can_lift_a_score_to_the_threshold():
    # Degree 1 gives 0.057813; the rest is recency alone, just below 0.10 in full precision.
    days = -90 * np.log2((0.0999999 - 0.2 * log(2) / log(11)) / 0.35)
    columns = {"degree": 1, "created_at": days_ago(days), "turns_at_creation": -(10**9)}
    assert one(**columns)["score"] == 0.1
    assert one(ImportanceSettings(rounded=False), **columns)["score"] < 0.1


# What follows from the formula at threshold 0.10 (facts, section 13): each bound with the other terms at 0.
# For degree 2 the facts' 4,579 turns are 4,578.9, rounded.
ANCIENT = {"created_at": days_ago(1e5), "turns_at_creation": -(10**9)}


@pytest.mark.parametrize("degree", [3, 4, 10, 5_000])
def test_a_node_with_three_or_more_edges_is_never_pruned(degree):
    assert one(**ANCIENT, degree=degree)["score"] >= 0.1156


@pytest.mark.parametrize(
    ("degree", "days", "turns"), [(0, 162.7, 1_000), (1, 274.7, 2_245), (2, 484.8, 4_578)]
)
def test_a_node_of_low_degree_is_pruned_only_past_both_of_its_bounds(degree, days, turns):
    exact = ImportanceSettings(rounded=False)
    young = one(exact, degree=degree, **{**ANCIENT, "created_at": days_ago(days - 0.1)})
    fresh = one(exact, degree=degree, **{**ANCIENT, "turns_at_creation": T - turns})
    assert young["score"] >= 0.1 and fresh["score"] >= 0.1
    older = one(exact, degree=degree, **{**ANCIENT, "created_at": days_ago(days + 0.1)})
    staler = one(exact, degree=degree, **{**ANCIENT, "turns_at_creation": T - turns - 1})
    assert older["score"] < 0.1 and staler["score"] < 0.1


@given(any_states(least=1))
def test_nothing_younger_than_a_thousand_turns_is_pruned(held):
    age = T - np.where(held.turns_at_last_access < 0, held.turns_at_creation, held.turns_at_last_access)
    assert (score(held, CLOCK, PUBLISHED).score[age <= 1_000] >= 0.1).all()


def test_the_user_hub_mutes_frequency():
    for most, once, four in ((5_000, 0.020, 0.047), (11_000, 0.019, 0.043)):
        assert 0.25 * one(most=most, access_count=1)["frequency"] == pytest.approx(once, abs=5e-4)
        assert 0.25 * one(most=most, access_count=4)["frequency"] == pytest.approx(four, abs=5e-4)
    immune = one(most=11_000, access_count=4, turns_at_last_access=-(10**9), degree=1, **ANCIENT)
    assert immune["score"] >= 0.1


@given(any_states(), st.sampled_from([PUBLISHED, PAPER]))
def test_every_term_and_every_score_lies_between_zero_and_one(held, settings):
    found = score(held, CLOCK, settings)
    assert set(found.terms) == set(TERMS)
    for values in (*found.terms.values(), found.score):
        assert values.shape == (len(held),) and (values >= 0).all() and (values <= 1).all()


@given(any_states(least=1), st.sampled_from([PUBLISHED, PAPER]), st.floats(0, 900), st.integers(0, 5_000))
def test_what_waits_longer_never_gains(held, settings, days, turns):
    later = Clock(CLOCK.now + np.timedelta64(round(days * 86_400), "s"), CLOCK.turns + turns)
    before, after = terms(held, CLOCK, settings), terms(held, later, settings)
    assert all((after[name] <= before[name]).all() for name in TERMS)


@given(st.integers(0, 10**4), st.integers(0, 10**4), st.sampled_from([PUBLISHED, PAPER]))
def test_more_edges_and_more_accesses_never_harm(less, more, settings):
    less, more = sorted((less, more))
    for term, column in (("centrality", "degree"), ("frequency", "access_count")):
        found = terms(states(2, **{column: [less, more]}), CLOCK, settings)[term]
        assert found[0] <= found[1]


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"recency": -0.1}, "recency"),
        ({"recency": 0.5}, "sum to 1.15"),
        ({"recency": 0.35 + 1e-6}, "sum to"),
        ({"recency": float("nan")}, "recency"),
        ({"half_life_days": 0}, "half_life_days"),
        ({"half_life_turns": -1}, "half_life_turns"),
        ({"half_life_days": float("inf")}, "half_life_days"),
        ({"centrality_base": 1}, "centrality_base"),
        ({"turns_since": "birth"}, "turns_since"),
        ({"wait": 1}, "wait"),
    ],
)
def test_settings_that_make_no_sense_are_refused_by_name(wrong, named):
    with pytest.raises(ValidationError, match=named):
        ImportanceSettings(**wrong)


def test_weights_may_miss_one_by_a_rounding_error():
    assert ImportanceSettings(recency=0.1, frequency=0.2, centrality=0.3, turns=0.4 + 1e-12).turns > 0.4


def test_recency_is_the_published_exponential():
    assert one(created_at=days_ago(33.3))["recency"] == pytest.approx(exp(-log(2) * 33.3 / 90), rel=1e-12)
