"""Statements cut into subject, relation and object by the frames that a list of them shares."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tasks.models.offline.frames import Statement, parse


@pytest.mark.parametrize(
    ("text", "subject", "relation", "value"),
    [
        ("Mira Olsen is employed by Acme Works.", "Mira Olsen", "_ is employed by _", "Acme Works"),
        ("Acme Works is located in the city of Lund.", "Acme Works", "_ is located in the city of _", "Lund"),
        ("The capital of Sorrel Land is Vey.", "Sorrel Land", "the capital of _ is _", "Vey"),
        ("The school where Jo Ek was taught is Brae.", "Jo Ek", "the school where _ was taught is _", "Brae"),
        ("The firm that built Skiff 9 is Nor.", "Skiff 9", "the firm that built _ is _", "Nor"),
        ("The First Warden of Brae is Jo Ek.", "Brae", "the first warden of _ is _", "Jo Ek"),
        ("Mira Olsen's elder sister is Jo Ek.", "Mira Olsen", "_ 's elder sister is _", "Jo Ek"),
        ("Mira Olsen's song was sung by Jo Ek.", "Mira Olsen's song", "_ was sung by _", "Jo Ek"),
        ("ice hockey was invented in Sorrel Land.", "ice hockey", "_ was invented in _", "Sorrel Land"),
        ("Jo Ek plays the position of left wing.", "Jo Ek", "_ plays the position of _", "left wing"),
        ("Mira Olsen lives near Lund, Skåne.", "Mira Olsen", "_ lives near _", "Lund, Skåne"),
        ("Skiff Ltd. was founded by Jo Ek Jr..", "Skiff Ltd.", "_ was founded by _", "Jo Ek Jr."),
    ],
)
def test_a_single_statement_is_cut_as_english_says(
    text: str, subject: str, relation: str, value: str
) -> None:
    assert parse([text]) == [Statement(subject, relation, value)]


def test_of_equally_long_frames_the_one_that_others_share_is_taken() -> None:
    doubtful = "The author of All was lost is Jo Ek."
    [statement, *_] = parse([doubtful, "The author of Nets is Mira.", "The author of Tides is Bo."])
    assert statement == Statement("All was lost", "the author of _ is _", "Jo Ek")


def test_words_in_which_all_subjects_of_a_frame_end_are_part_of_it() -> None:
    one, other = parse(
        ["The head of the Lund council is Jo Ek.", "The head of the Vey council is Mira Olsen."]
    )
    assert one == Statement("Lund", "the head of the _ council is _", "Jo Ek")
    assert other == Statement("Vey", "the head of the _ council is _", "Mira Olsen")


def test_words_between_names_are_a_frame_without_a_known_verb_if_two_statements_share_them() -> None:
    texts = ["Mira Olsen dwelt beside Lake Vey.", "Jo Ek dwelt beside Brae."]
    assert parse(texts) == [
        Statement("Mira Olsen", "_ dwelt beside _", "Lake Vey"),
        Statement("Jo Ek", "_ dwelt beside _", "Brae"),
    ]
    assert parse(texts[:1]) == [None]


def test_frames_that_differ_in_tense_and_articles_alone_are_one_relation() -> None:
    relations = {
        statement.relation
        for statement in parse(["Mira works for Acme.", "Jo worked for Acme.", "Bo has worked for the Acme."])
        if statement
    }
    assert relations == {"_ works for _"}


@pytest.mark.parametrize("text", ["", ".", "|" * 1_000, "Rain", "word " * 1_000, "9" * 5_000, "The of is"])
def test_what_is_no_statement_of_two_names_has_no_parts(text: str) -> None:
    assert parse([text]) == [None]


@given(st.lists(st.text(max_size=60), max_size=8))
def test_any_lines_are_parsed_one_by_one_into_parts_of_their_own_words(texts: list[str]) -> None:
    for text, statement in zip(texts, parse(texts), strict=True):
        if statement is not None:
            assert statement.subject
            assert statement.object
            squeezed = "".join(text.split())
            assert "".join(statement.subject.split()) in squeezed
            assert "".join(statement.object.split()) in squeezed
