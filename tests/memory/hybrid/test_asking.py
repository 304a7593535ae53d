"""What a question asks for and which time it names, by its words alone."""

from __future__ import annotations

from datetime import date, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.hybrid.asking import kind_of, names, read
from memory.hybrid.windows import Window, window_of

TUESDAY = date(2023, 5, 30)


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("Which paint did you recommend for the fence?", "assistant"),
        ("Remind me what the third step was.", "assistant"),
        ("In our previous conversation there was a list of ferns. Which was last?", "assistant"),
        ("What is my current rent?", "update"),
        ("How many stamps do I have so far?", "update"),
        ("Do I still take the tram?", "update"),
        ("When did Ann move?", "time"),
        ("How many weeks did the repair take?", "time"),
        ("Did I sell the boat before the car?", "time"),
        ("What colour is the boat?", "other"),
        ("What is the name of my neighbour's goat?", "other"),
    ],
)
def test_the_kind_is_read_from_general_cues(question: str, kind: str) -> None:
    assert kind_of(question) == kind


def test_what_the_assistant_said_comes_before_how_things_are_now() -> None:
    assert kind_of("Which is the newest camera that you recommended?") == "assistant"


@pytest.mark.parametrize(
    ("expression", "first", "last"),
    [
        ("yesterday", date(2023, 5, 29), date(2023, 5, 29)),
        ("10 days ago", date(2023, 5, 19), date(2023, 5, 21)),
        ("two weeks ago", date(2023, 5, 14), date(2023, 5, 18)),
        ("about three months ago", date(2023, 2, 21), date(2023, 3, 7)),
        ("a year ago", date(2022, 4, 15), date(2022, 7, 14)),
        ("last Saturday", date(2023, 5, 27), date(2023, 5, 27)),
        ("last Tuesday", date(2023, 5, 23), date(2023, 5, 23)),
        ("last week", date(2023, 5, 20), date(2023, 5, 26)),
        ("last month", date(2023, 4, 1), date(2023, 4, 30)),
        ("last year", date(2022, 1, 1), date(2022, 12, 31)),
    ],
)
def test_the_days_that_an_expression_speaks_of(expression: str, first: date, last: date) -> None:
    """Counted back from the day of the question, as wide as people are off who count in that unit."""
    found = window_of(f"Which kettle did I buy {expression}?", TUESDAY)
    assert found == Window(first, last, "Which kettle did I buy ?")


@pytest.mark.parametrize("question", ["Which kettle did I buy?", "How long ago was it?", "It lasted a week."])
def test_a_question_that_names_no_time_has_no_window(question: str) -> None:
    assert window_of(question, TUESDAY) is None


def test_a_time_out_of_the_calendar_is_no_window() -> None:
    assert window_of("What was here 999 years ago?", date(900, 1, 1)) is None


def test_the_words_of_the_time_are_not_searched_unless_nothing_else_is_left() -> None:
    asked = read("What did I plant two weeks ago?", TUESDAY, dates=True)
    assert asked.words == "What did I plant ?"
    assert asked.text == "What did I plant two weeks ago?"
    assert read("Two weeks ago", TUESDAY, dates=True).words == "Two weeks ago"


@pytest.mark.parametrize(("day", "dates"), [(None, True), (TUESDAY, False)])
def test_without_a_day_or_with_dates_off_the_whole_question_is_searched(
    day: date | None, dates: bool
) -> None:
    asked = read("What did I plant two weeks ago?", day, dates=dates)
    assert (asked.words, asked.window) == (asked.text, None)


@given(st.text(), st.dates())
def test_any_text_on_any_day_has_a_window_that_does_not_run_backwards_or_none(text: str, day: date) -> None:
    found = window_of(text, day)
    assert found is None or found.first <= found.last


@given(st.integers(1, 999), st.dates(min_value=date(1000, 1, 1)))
def test_days_are_counted_back_one_for_one(count: int, day: date) -> None:
    found = window_of(f"Where was I {count} days ago?", day)
    assert found is not None
    assert found.first + timedelta(days=1) == day - timedelta(days=count) == found.last - timedelta(days=1)


def test_a_speaker_is_named_by_the_whole_name_or_its_first_word_and_by_no_part_of_a_word() -> None:
    assert names("What did Ann's aunt bake?", "Ann")
    assert names("What did Ann bake?", "Ann Lee")
    assert not names("Who planned the annual fair?", "Ann")
    assert not names("Who?", "")
