"""Which questions are about the past or a chain of revisions, and what can be chosen for them."""

from __future__ import annotations

import pytest

from memory.rdforget.eligibility import eligible, historical
from memory.rdforget.materialise import materialised
from tests.memory.rdforget.fakes import asked, now, rd_settings, then

ENTRIES = materialised([[now("new", "s"), then("old", "s"), then("gone", "t")]], rd_settings("no_qc"))


@pytest.mark.parametrize(
    "question",
    [
        "Where did she work before?",
        "What was her previous address?",
        "Who used to lead the choir?",
        "Which formerly red door is meant?",
        "Does he no longer eat fish?",
        "How has her plan changed?",
        "How did his taste evolve over time?",
        "When did the date get UPDATED?",
        "Do my statements about the trip contradict each other?",
    ],
)
def test_cues_in_its_words_make_a_question_historical(question):
    assert historical(asked(question))


@pytest.mark.parametrize(
    "question",
    [
        "Where does she work?",
        "In which country was the author of the book born?",
        "What is the original language of the film?",
        "Which exchange rate did they get at the interchange?",  # a cue is a word of its own
        "",
    ],
)
def test_other_questions_are_about_the_present(question):
    assert not historical(asked(question))


@pytest.mark.parametrize(
    "label",
    [
        "contradiction_resolution",
        "temporal-reasoning",
        "track_full_preference_evolution",
        "recalling_the_reasons_behind_previous_updates",
    ],
)
def test_labels_of_contradiction_time_and_preference_history_make_it_historical_too(label):
    assert historical(asked("Where does she work?", label))


@pytest.mark.parametrize("label", ["knowledge-update", "preference_following", "multi-hop"])
def test_other_labels_do_not(label):
    assert not historical(asked("Where does she work?", label))


def test_a_historical_question_makes_what_is_not_active_eligible_unless_rescue_is_off():
    def statuses(question, profile="published"):
        return [entry.status for entry in eligible(ENTRIES, asked(question), rd_settings(profile))]

    assert statuses("Where does she work?") == ["active"]
    assert statuses("Where did she work before?") == ["active", "superseded", "deprecated"]
    assert statuses("Where did she work before?", "no_rescue") == ["active"]
