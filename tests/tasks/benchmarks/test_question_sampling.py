from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.conversation import Conversations, History, Question
from memory.errors import BadInput
from tasks.benchmarks import load
from tasks.benchmarks.limits import ask, limit, shares

sizes = st.dictionaries(st.sampled_from("abcdef"), st.integers(1, 30), min_size=1)


def conversations(sizes: dict[str, int]) -> Conversations:
    """Three questions at most share a history."""
    kinds = [kind for kind, size in sizes.items() for _ in range(size)]
    questions = tuple(
        Question(f"q{index}", f"h{index // 3}", kind, "?", "!") for index, kind in enumerate(kinds)
    )
    histories = {question.history: History(question.history, ()) for question in questions}
    return Conversations("made", "up", "0" * 64, histories, questions, ("a note",))


def test_largest_remainder_by_hand():
    # Quotas 5.4, 3.0 and 1.6 of ten: the seat left over goes to the remainder of .6.
    assert shares({"a": 27, "b": 15, "c": 8}, 10) == {"a": 5, "b": 3, "c": 2}
    assert shares({"b": 1, "a": 1, "c": 1}, 2) == {"b": 1, "a": 1, "c": 0}


@given(sizes, st.data())
def test_shares_sum_to_n_and_stay_within_one_of_proportion(sizes, data):
    total = sum(sizes.values())
    n = data.draw(st.integers(1, total))
    split = shares(sizes, n)
    assert sum(split.values()) == n
    assert all(abs(split[kind] * total - n * size) < total for kind, size in sizes.items())
    assert all(split[kind] <= size for kind, size in sizes.items())


@given(sizes, st.integers(1, 200), st.integers())
def test_a_limit_takes_n_questions_by_type_with_the_histories_that_they_need(sizes, n, seed):
    whole = conversations(sizes)
    cut = limit(whole, n, seed)
    assert len(cut.questions) == min(n, len(whole.questions))
    assert list(cut.questions) == [question for question in whole.questions if question in cut.questions]
    assert set(cut.histories) == {question.history for question in cut.questions}
    assert cut == limit(whole, n, seed)
    if n < len(whole.questions):
        expected = {kind: share for kind, share in shares(sizes, n).items() if share}
        assert Counter(question.type for question in cut.questions) == expected
        note = f"questions sampled by type with seed {seed}: {n} of {len(whole.questions)}"
        assert cut.notes == ("a note", note)


@given(sizes, st.integers(1, 200), st.integers())
def test_asking_fewer_questions_keeps_every_history(sizes, n, seed):
    whole = conversations(sizes)
    fewer = ask(whole, n, seed)
    assert fewer.histories == whole.histories
    assert fewer.questions == limit(whole, n, seed).questions


def test_seeds_differ_and_a_missing_question_leaves_the_order_of_the_others():
    whole = conversations({"a": 40})
    first = [question.id for question in limit(whole, 10, 1).questions]
    assert first != [question.id for question in limit(whole, 10, 2).questions]
    without = Conversations(
        "made", "up", "", whole.histories, tuple(q for q in whole.questions if q.id != first[0])
    )
    again = [question.id for question in limit(without, 9, 1).questions]
    assert again == first[1:]


@pytest.mark.parametrize("n", [0, -3])
def test_a_limit_below_one_is_refused(n):
    with pytest.raises(BadInput, match="at least 1"):
        limit(conversations({"a": 2}), n, 0)


def test_twenty_of_the_real_oracle_questions_cover_all_types(data):
    cut = limit(load("longmemeval-oracle", data), 20, 0)
    assert len(cut.histories) == 20
    assert Counter(question.type for question in cut.questions) == {
        "temporal-reasoning": 5,
        "multi-session": 6,
        "knowledge-update": 3,
        "single-session-user": 3,
        "single-session-assistant": 2,
        "single-session-preference": 1,
    }
