import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.retrieval_metrics import session_id, session_of, session_scores, turn_scores
from results.schemas import METRICS

TURNS = st.lists(st.integers(0, 12).map(lambda n: f"h#{n // 4}.{n % 4}"), max_size=13, unique=True)


def test_worked_example_by_turn():
    # evidence at ranks 2 and 4 of three pieces, one never recalled
    scores = turn_scores(["h#0.0", "h#0.1", "h#1.0", "h#2.3"], ["h#0.1", "h#2.3", "h#9.9"], (1, 3, 5))
    assert scores is not None
    assert scores.evidence == 3
    assert scores.recall == {1: 0.0, 3: 1 / 3, 5: 2 / 3}
    assert scores.reciprocal_rank == 1 / 2
    best = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert scores.ndcg[1] == 0.0
    assert scores.ndcg[5] == pytest.approx((1 / math.log2(3) + 1 / math.log2(5)) / best)


def test_the_best_possible_ranking_cut_at_k_has_ndcg_one_though_recall_is_partial():
    scores = turn_scores(["h#0.1", "h#0.2"], ["h#0.1", "h#0.2", "h#0.3"], (2,))
    assert scores is not None
    assert scores.ndcg == {2: 1.0}
    assert scores.recall == {2: 2 / 3}


def test_sessions_stand_where_their_best_turn_does():
    ranked = ["h#4.0", "h#4.7", "h#1.2", "h#4.1", "h#0.0"]
    scores = session_scores(ranked, [session_id("h", 1)], (1, 2))
    assert scores is not None
    assert scores.reciprocal_rank == 1 / 2
    assert scores.recall == {1: 0.0, 2: 1.0}


@pytest.mark.parametrize("history", ["h", "a#b", "conv-26", "x#1.2"])
def test_a_session_is_found_from_a_turn_whatever_the_history_is_called(history):
    assert session_of(f"{history}#12.3") == session_id(history, 12)


def test_without_evidence_there_is_no_figure():
    assert turn_scores(["h#0.0"], []) is None
    assert session_scores(["h#0.0"], []) is None


def test_nothing_recalled_is_zero_and_not_missing():
    scores = turn_scores([], ["h#0.0"])
    assert scores is not None
    assert scores.reciprocal_rank == 0.0
    assert set(scores.recall.values()) == {0.0}


def test_columns_are_those_of_the_metrics_table():
    scores = turn_scores(["h#0.0"], ["h#0.0"])
    assert scores is not None
    assert {*scores.columns("turn"), *scores.columns("session")} == {
        name for name in METRICS.names if name.startswith(("turn_", "session_"))
    }


@given(TURNS, TURNS.filter(bool))
def test_figures_stay_in_bounds_and_recall_grows_with_k(ranked, evidence):
    scores = turn_scores(ranked, evidence, (1, 2, 5, 13))
    assert scores is not None
    shares = list(scores.recall.values())
    assert shares == sorted(shares)
    assert all(
        0 <= figure <= 1 + 1e-12 for figure in (*shares, *scores.ndcg.values(), scores.reciprocal_rank)
    )
    assert scores.recall[13] == len({*ranked} & {*evidence}) / len(evidence)


@given(TURNS.filter(bool), st.data())
def test_naming_a_turn_again_changes_nothing(ranked, data):
    again = [*ranked, data.draw(st.sampled_from(ranked))]
    assert turn_scores(again, ["h#0.1", "h#2.2"]) == turn_scores(ranked, ["h#0.1", "h#2.2"])


@given(TURNS, TURNS.filter(bool))
def test_evidence_first_is_perfect(ranked, evidence):
    scores = turn_scores([*evidence, *(turn for turn in ranked if turn not in evidence)], evidence)
    assert scores is not None
    assert scores.reciprocal_rank == 1.0
    assert all(figure == pytest.approx(1.0) for figure in scores.ndcg.values())
