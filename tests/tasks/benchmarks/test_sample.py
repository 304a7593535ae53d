from collections import Counter
from typing import get_args

import pytest

from tasks.benchmarks import load
from tasks.benchmarks.longmemeval import QuestionType


@pytest.fixture(scope="module")
def sample():
    return load("sample")


def test_the_sample_is_known_by_its_hash(sample):
    assert (sample.benchmark, sample.variant) == ("sample", "built-in sample, version 1")


def test_the_sample_covers_every_type_and_abstention(sample):
    assert len(sample.questions) == 12
    assert set(get_args(QuestionType)) == {question.type for question in sample.questions}
    assert sum(question.abstention for question in sample.questions) == 1
    assert Counter(question.reference_kind for question in sample.questions) == {"str": 11, "int": 1}


def test_every_answerable_question_has_evidence_far_smaller_than_its_history(sample):
    for question in sample.questions:
        turns = sample.histories[question.history].turns
        assert bool(question.evidence) != question.abstention
        assert len(turns) >= 24
        assert len(question.evidence) <= 3


def test_evidence_stands_in_the_session_types_that_the_question_type_promises(sample):
    for question in sample.questions:
        turns = {turn.id: turn for turn in sample.histories[question.history].turns}
        roles = {turns[name].role for name in question.evidence}
        several = question.type in ("multi-session", "knowledge-update", "temporal-reasoning")
        assert (len(question.evidence_sessions) > 1) == several
        assert roles <= {"assistant"} if question.type == "single-session-assistant" else roles <= {"user"}


def test_short_references_stand_word_for_word_in_the_evidence(sample):
    verbatim = {
        "single-session-user": ("Aurelia", "640 euros"),
        "single-session-assistant": ("30 percent", "Zielony Piec"),
        "knowledge-update": ("18 kilometres", "Tomasz"),
    }
    for question in sample.questions:
        if question.type in verbatim and not question.abstention:
            turns = {turn.id: turn.text for turn in sample.histories[question.history].turns}
            answer = next(text for text in verbatim[question.type] if text in question.reference)
            holding = {name for name, text in turns.items() if answer in text}
            assert holding == {question.evidence[-1]}


def test_a_knowledge_update_gives_the_old_value_before_the_new(sample):
    updates = [question for question in sample.questions if question.type == "knowledge-update"]
    for question in updates:
        old, new = (sample.histories[question.history].sessions[p].date for p in question.evidence_sessions)
        assert old < new < question.date


def test_a_session_is_shared_by_two_histories_with_the_same_text(sample):
    texts = {}
    for history in sample.histories.values():
        for session in history.sessions:
            texts.setdefault(session.id, []).append(tuple(turn.text for turn in session.turns))
    assert any(len(copies) > 1 for copies in texts.values())
    assert all(len(set(copies)) == 1 for copies in texts.values())


def test_one_history_is_out_of_order_and_no_session_is_later_than_its_question(sample):
    assert "histories not in order of time: 1" in sample.notes
    for question in sample.questions:
        assert all(session.date < question.date for session in sample.histories[question.history].sessions)
