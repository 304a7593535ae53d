import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput
from memory.forgetting.limits import SCHEDULES, Limit, Schedule, decide, due, limit, schedule
from memory.forgetting.states import Scored
from tests.memory.forgetting.states import states


def forgotten(scores, sizes=None, **limit):
    held = states(len(scores), **({"bytes": sizes} if sizes else {}))
    return np.flatnonzero(decide(Scored(np.array(scores, float), {}), held, Limit(**limit))).tolist()


def test_below_the_threshold_is_forgotten_and_at_it_is_kept():
    assert forgotten([0.05, 0.1, 0.0999999, 0.2], threshold=0.1) == [0, 2]


def test_a_fraction_takes_the_lowest_to_the_nearest_whole_item():
    scores = [0.5, 0.1, 0.4, 0.2, 0.3]
    assert forgotten(scores, fraction=0.4) == [1, 3]
    assert forgotten(scores, fraction=0.29) == [1]
    assert forgotten(scores, fraction=0) == []
    assert forgotten(scores, fraction=1) == [0, 1, 2, 3, 4]
    assert len(forgotten([0.0] * 100, fraction=0.29)) == 29


def test_a_node_budget_keeps_that_many():
    scores = [0.5, 0.1, 0.4]
    assert forgotten(scores, nodes=2) == [1]
    assert forgotten(scores, nodes=0) == [0, 1, 2]
    assert forgotten(scores, nodes=7) == []


def test_a_byte_budget_forgets_until_what_is_kept_fits_and_no_longer():
    scores, sizes = [0.3, 0.1, 0.2], [100, 50, 30]
    assert forgotten(scores, sizes, bytes=180) == []
    assert forgotten(scores, sizes, bytes=179) == [1]
    assert forgotten(scores, sizes, bytes=130) == [1]
    assert forgotten(scores, sizes, bytes=129) == [1, 2]
    assert forgotten(scores, sizes, bytes=0) == [0, 1, 2]


def test_of_equal_scores_the_older_goes_first():
    assert forgotten([0.2, 0.1, 0.1, 0.1], nodes=2) == [1, 2]


def test_nothing_can_be_forgotten_of_nothing():
    for limits in ({"threshold": 1}, {"fraction": 1}, {"nodes": 0}, {"bytes": 0}):
        assert forgotten([], **limits) == []


@given(
    st.lists(st.tuples(st.sampled_from([0.0, 0.1, 0.5, 1.0]), st.integers(1, 99)), max_size=30),
    st.integers(0, 3_000),
)
def test_every_budget_is_kept_and_takes_no_more_than_it_must(items, budget):
    scores, sizes = [score for score, _ in items], [size for _, size in items]
    gone = forgotten(scores, sizes, bytes=budget)
    assert sum(sizes) - sum(sizes[i] for i in gone) <= budget
    if gone:
        last = max(gone, key=lambda i: (scores[i], i))
        assert sum(sizes) - sum(sizes[i] for i in gone) + sizes[last] > budget
        kept = set(range(len(items))) - set(gone)
        assert all((scores[last], last) < (scores[i], i) for i in kept)


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({}, "exactly one.*none"),
        ({"threshold": 0.1, "nodes": 5}, "exactly one.*nodes, threshold"),
        ({"threshold": 1.01}, "threshold"),
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": float("nan")}, "threshold"),
        ({"fraction": 2}, "fraction"),
        ({"nodes": -1}, "nodes"),
        ({"nodes": 1.5}, "nodes"),
        ({"bytes": "many"}, "bytes"),
        ({"edges": 3}, "edges"),
    ],
)
def test_limits_that_make_no_sense_are_refused_by_name(wrong, named):
    with pytest.raises(BadInput, match=f"limit: .*{named}"):
        limit(wrong)


def test_a_pass_is_due_after_each_so_many_turns():
    every = Schedule(every=400)
    assert [turns for turns in range(1_300) if due(every, turns, 10)] == [400, 800, 1_200]
    assert not due(every, 1_250, 10, ended=True)


def test_a_pass_at_the_end_is_due_once():
    end = Schedule(end=True)
    assert not any(due(end, turns, 10) for turns in range(1_000))
    assert due(end, 1_000, 10, ended=True)


def test_a_pass_is_due_when_a_budget_is_exceeded():
    budget = Schedule(nodes=100, bytes=5_000)
    assert not due(budget, 7, 100, 5_000)
    assert due(budget, 7, 101, 5_000)
    assert due(budget, 7, 100, 5_001)


def test_the_code_passes_every_400_turns_and_from_50000_nodes_on_the_paper_once_at_the_end():
    code, paper = schedule(SCHEDULES["published"]), schedule(SCHEDULES["paper"])
    assert due(code, 400, 1) and due(code, 401, 50_000) and not due(code, 401, 49_999)
    assert due(paper, 401, 1, ended=True) and not due(paper, 400, 50_000)


@pytest.mark.parametrize(
    ("wrong", "named"), [({}, "at least one"), ({"every": 0}, "every"), ({"often": 1}, "often")]
)
def test_schedules_that_make_no_sense_are_refused_by_name(wrong, named):
    with pytest.raises(BadInput, match=f"schedule: .*{named}"):
        schedule(wrong)
