"""GAM's three tasks without a language model."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.prompts import gam_boundary, gam_links, gam_topic
from memory.prompts.gam_boundary import Said
from tasks.models.offline.chat import OfflineChat

BOAT = (
    "We painted the boat blue on Sunday.",
    "Is the boat dry, or is the paint still wet?",
    "The paint is dry, so the boat can sail.",
    "Then let us sail the blue boat to the island.",
)
CAKE = (
    "My grandmother baked a walnut cake.",
    "Walnut cake! Does your grandmother still bake?",
    "My grandmother bakes a walnut cake every week because her oven is new.",
    "What a cake.",
)


def said(*texts: str) -> list[Said]:
    return [Said(f"u{number}", "", "AB"[number % 2], text) for number, text in enumerate(texts, 1)]


def starts(*texts: str) -> list[str]:
    turns = said(*texts)
    request = gam_boundary.request(turns)
    reply = gam_boundary.read(OfflineChat("noun-phrases").complete(request.task, request.inputs))
    return [texts[place] for place in gam_boundary.places(reply, turns)]


def topic(*texts: str) -> gam_topic.TopicReply:
    request = gam_topic.request(said(*texts))
    return gam_topic.read(OfflineChat("noun-phrases").complete(request.task, request.inputs))


def links(summary: str, *others: str) -> dict[int, float]:
    request = gam_links.request(summary, others)
    reply = gam_links.read(OfflineChat("noun-phrases").complete(request.task, request.inputs))
    return gam_links.confidences(reply, len(others))


def test_the_subject_changes_where_the_words_do() -> None:
    assert starts(*BOAT, *CAKE) == [CAKE[0]]


def test_one_subject_has_no_change() -> None:
    assert starts(*BOAT) == []


def test_the_turn_that_has_just_come_can_begin_a_subject() -> None:
    assert starts(*BOAT, CAKE[0]) == [CAKE[0]]
    assert starts(*BOAT, "I love that boat.") == []


def test_three_subjects_have_two_changes() -> None:
    race = ("The marathon starts at nine.", "A marathon is long.", "I ran the marathon in four hours.")
    assert starts(*BOAT, *CAKE, *race) == [CAKE[0], race[0]]


def test_turns_without_words_of_content_change_nothing() -> None:
    assert starts("Oh.", "So it is.", "And you?", "Me too.", "Why not?") == []


def test_a_summary_is_made_of_the_sentences_whose_words_recur_in_order_with_their_speakers() -> None:
    summary = topic(*BOAT, "Tomorrow my dentist calls about teeth.").summary
    assert summary == f"B: {BOAT[0]} B: {BOAT[2]}"


def test_a_turn_that_says_why_stands_on_the_one_before_it() -> None:
    assert gam_topic.causes(topic(*CAKE), said(*CAKE)) == [(1, 2)]


@pytest.mark.parametrize(
    ("other", "confidence"),
    [
        ("a blue boat sails", 1.0),  # all of its three words, twice, at most 1
        ("a blue house burns", 2 / 3),  # one of three
        ("a walnut cake", None),
        ("", None),
    ],
)
def test_a_link_is_twice_as_sure_as_the_share_of_words(other: str, confidence: float | None) -> None:
    found = links("Ann sails the blue boat from Ghent", other)
    assert found == ({} if confidence is None else {0: pytest.approx(confidence)})


@settings(max_examples=50)
@given(st.lists(st.text(max_size=40), max_size=8))
def test_whatever_was_said_the_replies_can_be_read(texts: list[str]) -> None:
    turns = said(*texts)
    assert all(0 < place < len(turns) for place in [list(texts).index(each) or 1 for each in starts(*texts)])
    reply = topic(*texts)
    assert len(reply.summary) <= gam_topic.SUMMARY_CHARACTERS
    assert all(0 <= sure <= 1 for sure in links(reply.summary, *texts[:5]).values())
    assert json.loads(gam_boundary.request(turns).inputs["turns"]) == [
        list(map(str, (each.id, each.date, each.speaker, each.text))) for each in turns
    ]
