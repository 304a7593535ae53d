import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.calibration import FALSE_MERGE_COST, KEPT, choose_dedup, choose_floor, curve


def pairs(purpose: str, half: str, match: list[float], other: list[float]) -> pd.DataFrame:
    """Pairs of a half, each in a family of its own."""
    cosines = [*match, *other]
    return pd.DataFrame(
        {
            "family": [f"{half} {number}" for number in range(len(cosines))],
            "half": half,
            "purpose": purpose,
            "match": [True] * len(match) + [False] * len(other),
            "cosine": cosines,
        }
    )


def test_a_false_merge_is_avoided_where_it_costs_more_than_the_merges_that_are_missed_for_it() -> None:
    fewer = [0.91] * (FALSE_MERGE_COST - 1)
    more = [0.91] * (FALSE_MERGE_COST + 1)
    # Up to 0.90 the other entity at 0.905 is merged too; above it, whatever lies at 0.91 still is not missed.
    assert choose_dedup(pairs("dedup", "choose", [*fewer, 0.98], [0.905])).threshold == 0.91
    # Here the other entity lies above the pairs that are lost by keeping it out.
    assert choose_dedup(pairs("dedup", "choose", [*fewer, 0.98], [0.92])).threshold == 0.98
    assert choose_dedup(pairs("dedup", "choose", [*more, 0.98], [0.92])).threshold == 0.91


def test_of_thresholds_that_cost_the_same_the_highest_is_chosen() -> None:
    assert choose_dedup(pairs("dedup", "choose", [0.955], [0.5])).threshold == 0.95


def test_the_floor_is_the_highest_that_keeps_nearly_all_that_is_asked_for() -> None:
    asked = [0.305, *np.linspace(0.455, 0.9, 19)]  # 19 of 20 are the share that must be kept
    assert KEPT == 0.95
    assert choose_floor(pairs("floor", "choose", asked, [0.8])).threshold == 0.45
    assert choose_floor(pairs("floor", "choose", asked[:-1], [0.8])).threshold == 0.30


def test_a_floor_that_nothing_clears_is_the_lowest() -> None:
    assert choose_floor(pairs("floor", "choose", [-0.2, -0.1], [])).threshold == 0.01


@given(
    st.lists(st.floats(-1, 1), min_size=1, max_size=20),
    st.lists(st.floats(-1, 1), min_size=1, max_size=20),
)
def test_the_reported_half_has_no_say(match: list[float], other: list[float]) -> None:
    choosing = [
        pairs("dedup", "choose", [0.9, 0.8], [0.85, 0.7]),
        pairs("floor", "choose", [0.5, 0.4], [0.3, 0.2]),
    ]
    reported = [pairs("dedup", "report", match, other), pairs("floor", "report", match, other)]
    alone, together = pd.concat(choosing), pd.concat([*choosing, *reported])
    assert choose_dedup(together) == choose_dedup(alone)
    assert choose_floor(together) == choose_floor(alone)


def test_the_interval_of_a_choice_shows_families_that_disagree() -> None:
    agreed = choose_dedup(pairs("dedup", "choose", [0.905] * 20, [0.4] * 20))
    assert (agreed.low, agreed.threshold, agreed.high) == (0.90, 0.90, 0.90)
    torn = choose_dedup(pairs("dedup", "choose", [0.905] * 10 + [0.955] * 2, [0.925, 0.93]))
    assert torn.low < torn.high


def test_pairs_of_one_family_are_drawn_together() -> None:
    apart = pairs("dedup", "choose", [0.905] * 6 + [0.955], [0.93])
    one = apart.assign(family="all")
    assert choose_dedup(one).threshold == choose_dedup(apart).threshold
    assert choose_dedup(one).low == choose_dedup(one).high


def test_no_pairs_choose_nothing() -> None:
    with pytest.raises(ValueError, match="no pairs"):
        choose_dedup(pairs("floor", "choose", [0.5], [0.5]))


def test_the_curve_counts_what_passes_at_each_threshold_with_wilsons_interval() -> None:
    found = curve(pairs("dedup", "report", [0.9, 0.8, 0.7, 0.6], [0.75, 0.5]))
    at = found[found["threshold"] == 0.7].iloc[0]
    assert (at["kept"], at["matches"], at["let_in"], at["others"]) == (3, 4, 1, 2)
    # Wilson, 3 of 4: centre (0.75 + z²/8) / (1 + z²/4), by hand with z = 1.959964.
    assert at["kept_low"] == pytest.approx(0.3006, abs=5e-5)
    assert at["kept_high"] == pytest.approx(0.9544, abs=5e-5)
    assert at["let_in_share"] == 0.5


def test_along_the_curve_ever_fewer_pairs_pass() -> None:
    random = np.random.default_rng(1).uniform(-1, 1, 60)
    found = curve(pairs("floor", "choose", list(random[:30]), list(random[30:])))
    assert len(found) == 100
    assert found["kept"].is_monotonic_decreasing and found["let_in"].is_monotonic_decreasing
