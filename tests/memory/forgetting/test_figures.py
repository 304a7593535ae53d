import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.forgetting.figures import figures
from memory.forgetting.ragged import Ragged
from results.retrieval_metrics import turn_scores

rankings = st.lists(st.permutations(range(12)), min_size=1, max_size=5)


@given(rankings, st.data())
def test_the_figures_are_those_that_the_results_define(ranked, data):
    evidence, ranks, survived = [], [], []
    for order in ranked:
        wanted = data.draw(st.lists(st.integers(0, 14), unique=True, max_size=4))
        evidence.append(wanted)
        ranks += [order.index(turn) + 1 if turn in order else 0 for turn in wanted]
        survived += [turn in order for turn in wanted]
    found = figures(Ragged.of(evidence), np.array(ranks, np.int64), np.array(survived, bool))
    for i, (order, wanted) in enumerate(zip(ranked, evidence, strict=True)):
        scores = turn_scores([str(turn) for turn in order], [str(turn) for turn in wanted])
        if scores is None:
            assert np.isnan([found.survival[i], found.reciprocal_rank[i], found.recall[5][i]]).all()
        else:
            assert {k: column[i] for k, column in found.recall.items()} == pytest.approx(scores.recall)
            assert found.reciprocal_rank[i] == pytest.approx(scores.reciprocal_rank)
            assert found.survival[i] == pytest.approx(sum(turn in order for turn in wanted) / len(wanted))


def test_two_evidence_turns_one_of_them_lost():
    found = figures(Ragged.of([[4, 7], []]), np.array([2, 0]), np.array([True, False]))
    assert found.survival[0] == 0.5
    assert found.recall == {
        1: pytest.approx([0.0, np.nan], nan_ok=True),
        **{k: pytest.approx([0.5, np.nan], nan_ok=True) for k in (5, 10)},
    }
    assert found.reciprocal_rank[0] == 0.5
