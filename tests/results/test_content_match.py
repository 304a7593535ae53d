"""Relevance by content, and the rank at which everything was found."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from results import rules
from results.content_match import content_relevant, missing, rank_of_all, reference_relevant


@pytest.mark.parametrize(
    ("expected", "relevant"),
    [
        (["19TH"], True),
        (["the 19"], True),
        (["rye", "19th"], True),
        (["rye"], False),
        (["", "  "], False),
        ([], False),
    ],
)
def test_a_text_is_relevant_if_any_string_is_part_of_it_in_any_case(
    expected: list[str], relevant: bool
) -> None:
    assert content_relevant("Moved to the 19th.", expected) is relevant


def test_what_is_missing_is_named_as_it_was_written() -> None:
    assert missing("a CAST-IRON pot", ["cast-iron pot", "48", " "]) == ("48",)


@pytest.mark.parametrize(
    ("reference", "relevant"),
    [("The green one.", False), ("Green", True), ("Green shutters", False), ("gree", False), ("", False)],
)
def test_a_reference_is_said_in_whole_words(reference: str, relevant: bool) -> None:
    assert reference_relevant("Runa paints the shutters green.", reference) is relevant


def test_everything_is_found_at_the_rank_of_the_last_string_that_turns_up() -> None:
    ranked = ["A pot.", "It cost 48 euros.", "Cast-iron, that pot.", "A cast-iron pot for 48."]
    assert rank_of_all(ranked, ["pot", "48"]) == 2
    assert rank_of_all(ranked, ["cast-iron", "48"]) == 3
    assert rank_of_all(ranked, ["cast-iron pot"]) == 4
    assert rank_of_all(ranked, ["tin"]) is None
    assert rank_of_all(ranked, []) is None


def test_a_string_is_not_found_across_two_texts() -> None:
    assert rank_of_all(["Cast-iron", "pot"], ["cast-iron pot"]) is None


@given(
    st.lists(st.sampled_from(["a", "b", "ab", "c"])), st.lists(st.sampled_from(["a", "b", "c"]), min_size=1)
)
def test_the_first_so_many_texts_hold_every_string_and_one_fewer_do_not(
    ranked: list[str], expected: list[str]
) -> None:
    rank = rank_of_all(ranked, expected)
    held = [bool(n) and not missing("\n".join(ranked[:n]), expected) for n in range(len(ranked) + 1)]
    assert rank == (held.index(True) if True in held else None)


def test_an_answer_passes_by_strings_if_it_lacks_none() -> None:
    assert rules.strings("She asks 9,800, MRS ANSTELL.", ["Anstell", "9,800"]) == ()
    assert rules.strings("She asks 9800.", ["Anstell", "9,800"]) == ("Anstell", "9,800")
