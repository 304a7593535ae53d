"""Who, what, when, where and why without a language model."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.prompts import five_ws
from memory.prompts.five_ws import MOST_CHARACTERS, MOST_TAGS, SLOTS, Slots
from tasks.models.offline.chat import OfflineChat


def tagged(text: str, speaker: str = "user") -> Slots:
    asked = five_ws.turn_request(speaker, text)
    return five_ws.read(OfflineChat("noun-phrases").complete(asked.task, asked.inputs))


def test_each_w_is_found_by_its_cues() -> None:
    found = tagged(
        "Last Friday I met my sister in Trier to buy a walnut piano, because the old one was broken."
    )
    assert found == {
        "who": ("sister",),
        "what": ("walnut piano",),
        "when": ("Last Friday",),
        "where": ("Trier",),
        "why": ("the old one was broken", "to buy a walnut piano"),
    }


@pytest.mark.parametrize(
    ("text", "who"),
    [
        ("Ilse moved the piano.", ("Ilse",)),
        ("I went climbing with Ilse Brandt.", ("Ilse Brandt",)),
        ("Hey Ilse, the piano is here.", ("Ilse",)),
        ("My dentist recommended a mouthguard.", ("dentist",)),
        ("The piano is out of tune.", ()),
    ],
)
def test_persons_are_told_by_words_for_them_and_by_where_names_stand(text: str, who: tuple[str, ...]) -> None:
    assert tagged(text)["who"] == who


def test_a_named_speaker_who_speaks_of_themselves_is_among_who_and_a_role_never() -> None:
    assert tagged("I bake rye bread.", "Ilse")["who"] == ("Ilse",)
    assert tagged("Rye bread is heavy.", "Ilse")["who"] == ()
    assert tagged("I bake rye bread.", "user")["who"] == ()


def test_a_place_is_a_word_for_one_or_a_name_after_a_preposition() -> None:
    assert tagged("We rented a cottage near Lake Constance from the tourist office in Bregenz.")["where"] == (
        "Lake Constance",
        "Bregenz",
    )
    assert tagged("The village museum has a harp.")["where"] == ("village museum",)


def test_all_times_of_a_turn_are_copied_word_for_word() -> None:
    found = tagged("I started in March 2021 and stopped two weeks ago.")
    assert found["when"] == ("in March 2021", "two weeks ago")


def test_a_purpose_is_a_clause_with_to_after_a_noun_phrase() -> None:
    assert tagged("I bought a humidifier to protect the piano.")["why"] == ("to protect the piano",)
    assert tagged("I want to protect the piano.")["why"] == ()


def test_a_question_is_tagged_like_a_turn_and_blank_or_odd_text_has_no_tags() -> None:
    asked = five_ws.question_request("When did Ilse move the walnut piano to Trier?")
    found = five_ws.read(OfflineChat("noun-phrases").complete(asked.task, asked.inputs))
    assert (found["what"], found["where"]) == (("walnut piano",), ("Trier",))
    for text in ("", "  \n", "?!...", "| | |"):
        assert not any(tagged(text).values())


@given(st.text(max_size=300), st.sampled_from(["user", "Ilse", ""]))
def test_whatever_is_said_the_reply_keeps_its_bounds_and_is_the_same_again(text: str, speaker: str) -> None:
    found = tagged(text, speaker)
    assert found == tagged(text, speaker)
    for slot in SLOTS:
        assert len(found[slot]) <= MOST_TAGS
        assert all(0 < len(tag) <= MOST_CHARACTERS for tag in found[slot])
        assert len({tag.casefold() for tag in found[slot]}) == len(found[slot])
