"""When a text says a reference answer, by examples."""

from __future__ import annotations

import pytest

from results.answer_match import normalised, occurs, wanted


@pytest.mark.parametrize(
    ("reference", "text"),
    [
        ("The Shell gas station", "You filled up at the Shell gas-station, or a Shell gas station?"),
        ("$1,300", "It was $1,300."),
        ("three", "I have 3 cats"),
        ("7 days. 8 days (including the last day) is also acceptable.", "it took eight days"),
    ],
)
def test_an_answer_is_found_whatever_its_case_punctuation_articles_or_number_words(
    reference: str, text: str
) -> None:
    assert occurs(wanted(reference), normalised(text))


@pytest.mark.parametrize(
    ("reference", "text"), [("cat", "a catalogue"), ("red car", "the car is red"), ("13", "130 or 3")]
)
def test_parts_of_words_and_words_in_another_order_are_not_the_answer(reference: str, text: str) -> None:
    assert not occurs(wanted(reference), normalised(text))


def test_a_reference_without_words_is_nowhere() -> None:
    assert wanted("the !") == ()
    assert not occurs(wanted(""), normalised("anything"))
