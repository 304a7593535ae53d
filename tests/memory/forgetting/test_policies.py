from math import exp, log

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput
from memory.forgetting.importance import TERMS, ImportanceSettings, score
from memory.forgetting.limits import Limit, decide
from memory.forgetting.policies import POLICIES, policy
from tests.memory.forgetting.states import CLOCK, NEVER, any_states, days_ago, states

RANDOM = ("random", "random_by_degree", "random_by_label")


def scores(name, held, settings=None, **more):
    return policy(name, settings).score(held, CLOCK, **more).score


@pytest.mark.parametrize("name", POLICIES)
@given(held=any_states())
def test_every_policy_scores_every_item_between_zero_and_one_and_twice_the_same(name, held):
    chosen = policy(name)
    found = chosen.score(held, CLOCK)
    assert chosen.name == name
    assert found.score.dtype == np.float64 and found.score.shape == (len(held),)
    assert np.isfinite(found.score).all() and (found.score >= 0).all() and (found.score <= 1 + 1e-12).all()
    assert all(values.shape == (len(held),) for values in found.terms.values())
    assert (chosen.score(held, CLOCK).score == found.score).all()


@given(any_states())
def test_importance_is_the_published_score(held):
    assert (scores("importance", held) == score(held, CLOCK, ImportanceSettings()).score).all()


@given(any_states())
def test_a_single_term_scores_by_that_term_alone(held):
    for term in TERMS:
        found = policy(term).score(held, CLOCK)
        assert (found.score == np.round(found.terms[term], 6)).all()


def test_leaving_a_term_out_scales_the_other_weights_to_one():
    kept = policy("without_recency").settings
    assert kept.recency == 0 and kept.frequency == pytest.approx(0.25 / 0.65)
    assert kept.centrality == kept.turns == pytest.approx(0.20 / 0.65)


@given(any_states(least=1))
def test_a_left_out_term_plays_no_part(held):
    found = policy("without_centrality", {"rounded": False}).score(held, CLOCK)
    parts = {"recency": 0.35, "frequency": 0.25, "turns": 0.20}
    by_hand = sum(weight / 0.8 * found.terms[name] for name, weight in parts.items())
    assert found.score == pytest.approx(by_hand, abs=1e-12)


def test_oldest_goes_by_date_or_by_turn_and_an_unknown_date_is_oldest():
    held = states(
        4, created_at=[days_ago(1), days_ago(9), NEVER, days_ago(1)], turns_at_creation=[0, 1, 2, 3]
    )
    assert scores("oldest", held).tolist() == [0.5, 0.25, 0.0, 0.5]
    assert scores("oldest", held, {"by": "turns"}).tolist() == [0.0, 0.25, 0.5, 0.75]


def test_least_recently_used_goes_by_the_last_access_and_by_creation_where_there_is_none():
    held = states(
        3,
        created_at=[days_ago(300), days_ago(200), days_ago(100)],
        last_accessed_at=[days_ago(1), NEVER, NEVER],
        access_count=[2, 0, 0],
        turns_at_creation=[0, 1, 2],
        turns_at_last_access=[9, -1, -1],
    )
    assert np.argsort(scores("least_recently_used", held)).tolist() == [1, 2, 0]
    assert np.argsort(scores("least_recently_used", held, {"by": "turns"})).tolist() == [1, 2, 0]
    assert np.argsort(scores("oldest", held)).tolist() == [0, 1, 2]


@given(any_states(least=1))
def test_pagerank_is_that_of_networkx(held):
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(len(held)))
    graph.add_edges_from(held.edges.tolist())
    expected = nx.pagerank(graph, alpha=0.85, tol=1e-13, max_iter=1_000)
    assert np.abs(scores("pagerank", held) - [expected[i] for i in range(len(held))]).max() < 1e-8


def test_ebbinghaus_strength_grows_by_a_day_with_each_recall():
    held = states(2, created_at=[days_ago(3)] * 2, last_accessed_at=[NEVER, days_ago(3)], access_count=[0, 2])
    assert scores("ebbinghaus", held) == pytest.approx([exp(-3), exp(-1)])


def test_memory_stream_averages_three_scaled_scores():
    held = states(
        3,
        created_at=[days_ago(10), days_ago(5), days_ago(0)],
        degree=[0, 10, 1],
        vectors=[[1, 0], [0, 1], [1, 0]],
    )
    found = policy("memory_stream", {"recent": 1}).score(held, CLOCK)
    recency = 0.995 ** np.array([240, 120, 0])
    assert found.terms["recency"] == pytest.approx(recency)
    assert found.terms["importance"] == pytest.approx([1, 10, 1 + 9 * log(2) / log(11)])
    assert found.terms["relevance"] == pytest.approx([1, 0, 1])
    scaled = (recency - recency[0]) / (1 - recency[0])
    by_hand = (scaled + np.array([0, 1, log(2) / log(11)]) + np.array([1, 0, 1])) / 3
    assert found.score == pytest.approx(by_hand)


def test_memory_stream_of_items_that_differ_in_nothing_is_in_the_middle():
    assert scores("memory_stream", states(3, vectors=[[1, 0]] * 3)).tolist() == [0.5] * 3


def test_fademem_halves_in_its_published_half_lives_at_no_importance():
    # Importance is 0 but for recency; a rate that it does not touch leaves the pure law of decay.
    law = {"importance_effect": 0.0, "recent": 1}
    apart = [[-1, 0], [-1, 0], [1, 0]]  # the newest item is unlike the others
    short = states(3, created_at=[days_ago(5.02), days_ago(10), days_ago(0)], vectors=apart)
    assert scores("fademem", short, law)[0] == pytest.approx(0.5, abs=1e-3)
    long = states(3, created_at=[days_ago(11.25), days_ago(10), days_ago(0)], vectors=apart)
    promoted = {**law, "promote": 0.0, "demote": 0.0}
    assert scores("fademem", long, promoted)[0] == pytest.approx(0.5, abs=1e-3)


def test_fademem_promotes_what_was_important_at_its_last_access_and_demotes_what_faded():
    def layer(count, idle):
        held = states(
            1,
            created_at=[days_ago(idle)],
            last_accessed_at=[days_ago(idle)],
            access_count=[count],
            vectors=[[1, 0]],
        )
        found = policy("fademem").score(held, CLOCK)
        rate = 0.1 * exp(-found.terms["importance"][0])
        shape = log(-log(found.score[0]) / rate) / log(idle)
        return "long" if shape == pytest.approx(0.8) else "short" if shape == pytest.approx(1.2) else shape

    # Relevance is 1: importance at the last access is (2 + f / (1 + f)) / 3, and falls to (1 + f / (1 + f)) / 3.
    assert layer(1, idle=2) == "long"
    assert layer(0, idle=2) == "short"
    assert layer(1, idle=200) == "long"
    held = states(
        1, last_accessed_at=[days_ago(200)], access_count=[1], vectors=[[1, 0]], created_at=[days_ago(200)]
    )
    raised = policy("fademem", {"demote": 0.51}).score(held, CLOCK).score[0]
    assert raised < scores("fademem", held)[0]


def test_fademem_accesses_restore_a_part_of_what_was_lost():
    held = states(
        3,
        created_at=[days_ago(20)] * 3,
        last_accessed_at=[days_ago(0)] * 3,
        access_count=[0, 1, 30],
        vectors=[[-1, 0], [-1, 0], [1, 0]],
    )
    found = policy("fademem", {"recent": 1, "importance_effect": 0.0, "promote": 1.0}).score(held, CLOCK)
    decayed = exp(-0.1 * 20**1.2)
    assert found.score[0] == pytest.approx(decayed)
    assert found.score[1] == pytest.approx(decayed + 0.2 * (1 - decayed) * exp(-0.1))
    assert found.score[1] < found.score[2] < 1


@given(any_states(least=1), st.floats(0, 1), st.integers(0, 99))
def test_random_at_a_matched_count_forgets_exactly_as_many(held, fraction, draw):
    limit = Limit(fraction=fraction)
    like = decide(policy("importance").score(held, CLOCK), held, limit)
    kept = Limit(nodes=int((~like).sum()))
    for name in RANDOM:
        for matched in (None, like):
            found = policy(name).score(held, CLOCK, draw, matched)
            assert decide(found, held, kept).sum() == like.sum()


@given(any_states(least=1), st.integers(0, 99))
def test_stratified_random_forgets_as_many_of_each_degree_or_label(held, draw):
    like = policy("importance").score(held, CLOCK).score < 0.4
    for name, column in (("random_by_degree", held.degree), ("random_by_label", held.label)):
        found = policy(name).score(held, CLOCK, draw, like)
        gone = decide(found, held, Limit(nodes=int((~like).sum())))
        assert (gone == (found.score < 0.5)).all()
        if column.max() < 20:  # degrees from 10 on share a class with those up to twice as high
            classes = np.where(column < 10, column, 10)
            assert (
                np.bincount(classes[gone], minlength=11) == np.bincount(classes[like], minlength=11)
            ).all()


def test_stratified_random_without_a_model_takes_the_same_share_of_each_stratum():
    held = states(300, label=[0] * 200 + [1] * 100)
    gone = decide(policy("random_by_label").score(held, CLOCK), held, Limit(fraction=0.3))
    assert np.bincount(held.label[gone]).tolist() == [60, 30]


@pytest.mark.parametrize("name", RANDOM)
def test_draws_differ_pairwise_and_a_draw_is_the_same_each_time(name):
    held = states(200, degree=np.arange(200) % 3, label=np.arange(200) % 4)
    masks = [decide(policy(name).score(held, CLOCK, draw), held, Limit(fraction=0.1)) for draw in range(20)]
    assert len({mask.tobytes() for mask in masks}) == 20
    again = decide(policy(name).score(held, CLOCK, 7), held, Limit(fraction=0.1))
    assert (again == masks[7]).all()
    other = decide(policy(name, {"seed": 1}).score(held, CLOCK, 7), held, Limit(fraction=0.1))
    assert (other != masks[7]).any()


def test_random_forgets_every_item_equally_often():
    held = states(50)
    gone = np.zeros(50)
    for draw in range(2_000):
        gone += decide(policy("random").score(held, CLOCK, draw), held, Limit(fraction=0.2))
    assert np.abs(gone / 2_000 - 0.2).max() < 0.045  # five standard errors


@pytest.mark.parametrize(
    ("name", "settings", "named"),
    [
        ("luck", {}, "no retention policy is named luck; there are: importance"),
        ("importance", {"half_life_days": 0}, "policy importance: half_life_days"),
        ("importance", {"recency": -1}, "policy importance: recency"),
        ("importance", {"recency": 0.9}, "policy importance: the weights .* sum to 1.55"),
        ("importance", {"frequenzy": 1}, "policy importance: frequenzy"),
        ("recency", {"half_life_days": -1}, "policy recency: half_life_days"),
        ("turns", {"turns": 0, "recency": 0.55}, "policy turns: turns: the weights are zero"),
        ("random", {"seed": -1}, "policy random: seed"),
        ("random", {"half_life_days": 90}, "policy random: half_life_days"),
        ("pagerank", {"damping": 1}, "policy pagerank: damping"),
        ("fademem", {"promote": 1.5}, "policy fademem: promote"),
        ("memory_stream", {"hourly_decay": 1}, "policy memory_stream: hourly_decay"),
        ("ebbinghaus", {"strength": 0}, "policy ebbinghaus: strength"),
        ("oldest", {"by": "name"}, "policy oldest: by"),
    ],
)
def test_a_bad_policy_is_refused_by_name_and_field(name, settings, named):
    with pytest.raises(BadInput, match=named):
        policy(name, settings)
