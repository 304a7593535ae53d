"""Judging by rule, on examples worked by hand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results.rules import choice, normalised, substring

OPTIONS = ("(a) Try the green tea.", "(b) Try the black coffee.", "(c) Have two cups of water.")
WORDS = st.text(alphabet="abcxyz 019.,-", max_size=30)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("The U.S. won, twelve to ZERO!", "the u s won 12 to 0"),
        ("thirteen of twenty-one", "thirteen of twenty 1"),
        ("Ålesund – østre", "ålesund østre"),
        ("  ?!  ", ""),
    ],
)
def test_text_is_lower_case_tokens_with_number_words_to_twelve_as_digits(text, tokens):
    assert normalised(text) == tokens


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("He lives in Belgium.", "Belgium"),
        ("belgium", "Kingdom of Belgium"),
        ("She has three", "3"),
        ("He was born in Bartok", "art"),  # substrings need not be words
        ("art", "Bartok"),
        ("Rio-de-Janeiro", "Rio de Janeiro"),
    ],
)
def test_a_reference_in_the_answer_or_a_long_enough_answer_in_the_reference_is_right(answer, reference):
    assert substring(answer, [reference]) == reference


@pytest.mark.parametrize(
    ("answer", "reference"),
    [
        ("France", "Belgium"),
        ("Be", "Belgium"),  # two characters
        ("", "Belgium"),
        ("?!", "Belgium"),
        ("Anything", "?!"),  # a reference without tokens
        ("thirteen", "13"),  # number words end at twelve
    ],
)
def test_all_else_is_wrong(answer, reference):
    assert substring(answer, [reference]) is None


def test_any_reference_counts_and_the_first_that_agrees_is_told():
    assert substring("It was Rodez or Paris.", ["Lyon", "Paris", "Rodez"]) == "Paris"
    assert substring("It was Rodez.", []) is None


@given(answer=WORDS, reference=WORDS, before=WORDS, after=WORDS)
def test_what_stands_around_a_right_answer_does_not_make_it_wrong(answer, reference, before, after):
    if normalised(reference) and normalised(reference) in normalised(answer):
        assert substring(f"{before} {answer} {after}", [reference]) == reference


@given(answer=WORDS, references=st.lists(WORDS, max_size=3))
def test_case_does_not_matter(answer, references):
    assert substring(answer.upper(), references) == substring(answer, references)


@pytest.mark.parametrize(
    ("answer", "chosen"),
    [
        ("b", 1),
        ("(B).", 1),
        ("b) Try the black coffee.", 1),
        ("c. Have two cups", 2),
        ("I would take (a), as you like it.", 0),
        ("(c) Have two cups of water.", 2),
        ("The best option is b", 1),
        ("The answer: c", 2),
        ("try the BLACK coffee", 1),
        ("You should have 2 cups of water today", 2),
    ],
)
def test_a_letter_or_a_whole_text_chooses_an_option(answer, chosen):
    assert choice(answer, OPTIONS) == OPTIONS[chosen]


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "d",
        "(a) or (b)",
        "Try the green tea. Try the black coffee.",
        "A coffee would be nice",  # no letter: the article
        "tea",
    ],
)
def test_no_option_several_or_an_unknown_letter_choose_none(answer):
    assert choice(answer, OPTIONS) is None


def test_without_options_nothing_is_chosen():
    assert choice("a", ()) is None


@given(st.integers(0, 2), WORDS.filter(lambda text: "(" not in text))
def test_the_letter_of_an_option_in_brackets_chooses_it_whatever_follows(place, after):
    assert choice(f"({'abc'[place]}) {after}", OPTIONS) == OPTIONS[place]
