"""What a question starts from: weights of phrases and passages, by hand."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.hipporag.seeding import min_max, passage_seeds, phrase_seeds


def fact(subject: int, object_: int, score: float) -> tuple[np.ndarray, float]:
    return np.array([subject, object_]), score


def test_a_phrase_gets_its_facts_score_divided_by_the_passages_that_contain_it() -> None:
    seeds = phrase_seeds([fact(0, 2, 0.9)], np.array([1.0, 5.0, 3.0]), None)
    assert seeds.tolist() == pytest.approx([0.9, 0.0, 0.3])


def test_a_phrase_of_two_facts_gets_their_mean() -> None:
    seeds = phrase_seeds([fact(0, 1, 1.0), fact(1, 2, 0.5)], np.array([1.0, 2.0, 1.0]), None)
    assert seeds.tolist() == pytest.approx([1.0, (1.0 + 0.5) / 2 / 2, 0.5])


def test_only_the_heaviest_phrases_are_seeds_of_equal_ones_that_of_the_earlier_fact() -> None:
    facts = [fact(3, 1, 0.4), fact(0, 2, 0.8)]
    passages_of = np.array([2.0, 1.0, 1.0, 1.0])
    # 3: .4, 1: .4, 0: .4, 2: .8
    assert np.flatnonzero(phrase_seeds(facts, passages_of, 1)).tolist() == [2]
    assert np.flatnonzero(phrase_seeds(facts, passages_of, 2)).tolist() == [2, 3]
    assert np.flatnonzero(phrase_seeds(facts, passages_of, 3)).tolist() == [1, 2, 3]


def test_a_passages_seed_is_its_normalised_similarity_times_the_weight_and_nothing_without_a_vector() -> None:
    seeds = passage_seeds(np.array([0.2, 0.6, 0.4]), np.array([0, 1, 3]), 4, 0.05)
    assert seeds.tolist() == pytest.approx([0.0, 0.05, 0.0, 0.025])


def test_equal_scores_are_all_one() -> None:
    assert min_max(np.array([0.3, 0.3])).tolist() == [1.0, 1.0]
    assert min_max(np.zeros(0)).tolist() == []


@given(st.lists(st.floats(-1, 1), min_size=1))
def test_normalised_scores_keep_their_order_between_zero_and_one(scores: list[float]) -> None:
    found = min_max(np.array(scores))
    assert found.max() == 1.0
    assert found.min() in (0.0, 1.0)
    order = np.argsort(scores, kind="stable")
    assert (np.diff(found[order]) >= 0).all()
