"""The one rule that fills a budget: best first, what fits is taken, what does not is passed over."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memory import tokens
from memory.packing import cost, fitted, fitting

COSTS = st.lists(st.integers(0, 20))
BUDGETS = st.integers(0, 60)


def taken(costs, budget):
    return fitted(costs, costs, budget)


def test_what_does_not_fit_is_passed_over_for_what_still_does():
    assert taken([4, 9, 3, 4], 8) == [4, 3]
    assert taken([9], 8) == []
    assert taken([8], 8) == [8]


def test_a_larger_budget_can_show_fewer_entries_and_others():
    assert taken([10, 2, 3, 4], 9) == [2, 3, 4]
    assert taken([10, 2, 3, 4], 10) == [10]


def test_a_text_costs_its_tokens_and_a_constant_and_no_budget_takes_all():
    texts = ["one two", "three " * 9, "four"]
    assert [cost(text, 8) for text in texts] == [tokens.count(text) + 8 for text in texts]
    assert fitting(texts, cost(texts[0], 8) + cost(texts[2], 8), 8) == [0, 2]
    assert fitting(texts, None, 8) == [0, 1, 2]


@given(COSTS, BUDGETS)
def test_no_more_is_taken_than_fits_and_nothing_that_fits_is_left(costs, budget):
    shown = taken(costs, budget)
    left = budget - sum(shown)
    assert left >= 0
    remaining = list(costs)
    for each in shown:
        remaining.remove(each)
    assert all(each > left for each in remaining)


@given(COSTS, BUDGETS, BUDGETS)
def test_a_larger_budget_never_spends_less(costs, one, other):
    small, large = sorted((one, other))
    assert sum(taken(costs, small)) <= sum(taken(costs, large))
