"""When the buffer is turned over, what becomes a topic, and which topics are linked."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory import tokens
from memory.conversation import Session
from memory.errors import CallFailed, CallRefused
from memory.models import ChatRequest
from tests.memory.fake_models import MAY, FakeHashEmbedder, session
from tests.memory.gaama.fakes import PlacedEmbedder
from tests.memory.gam.fakes import FakeBuilder, asking, heard, new_gam, runs, starts_with, summed_up

BOAT = ("I bought a boat.", "Which colour is the boat?", "The boat is blue.")
CAKE = ("Now I bake a cake.", "Is the cake sweet?")


def test_a_change_of_subject_is_found_when_the_session_is_over_and_not_before() -> None:
    builder = FakeBuilder(gam_boundary=starts_with("Now"))
    memory = heard(new_gam(builder), session(*BOAT, *CAKE))
    assert (runs(memory), builder.requests) == ([[*BOAT, *CAKE]], [])
    heard(memory, session("Hello again.", position=1))
    assert runs(memory) == [list(BOAT), [*CAKE, "Hello again."]]
    assert len(builder.asked("gam_boundary")) == 1


def test_the_detector_is_shown_the_buffer_and_the_turn_that_comes() -> None:
    builder = FakeBuilder()
    heard(new_gam(builder), session(*CAKE), session("Hello\nagain.", position=1))
    (request,) = builder.asked("gam_boundary")
    assert request.user.splitlines() == [
        "[u1] (2023-05-20) Ann: Now I bake a cake.",
        "[u2] (2023-05-20) Bob: Is the cake sweet?",
        "[u3] (2023-05-20) Ann: Hello again.",
    ]


def test_a_subject_that_begins_with_the_coming_turn_makes_the_whole_buffer_a_topic() -> None:
    memory = new_gam(FakeBuilder(gam_boundary=starts_with("Now")))
    heard(memory, session(*BOAT), session(*CAKE, position=1))
    assert runs(memory) == [list(BOAT), list(CAKE)]


def test_several_changes_of_subject_make_several_topics_with_one_request() -> None:
    builder = FakeBuilder(gam_boundary=starts_with("Now", "Then"))
    memory = heard(new_gam(builder), session(*BOAT, *CAKE, "Then I slept."), session("Hello.", position=1))
    assert runs(memory) == [list(BOAT), list(CAKE), ["Then I slept.", "Hello."]]
    assert len(builder.asked("gam_boundary")) == 1


def test_a_gap_within_a_session_is_a_pause_from_its_hours_on() -> None:
    for hours, checks in ((23, 0), (24, 1)):
        builder = FakeBuilder()
        later = replace(session("Back."), date=MAY + timedelta(hours=hours))
        heard(new_gam(builder), session(*BOAT), later)
        assert len(builder.asked("gam_boundary")) == checks


def test_a_buffer_without_room_becomes_a_topic_even_if_the_subject_goes_on() -> None:
    size = sum(tokens.count(text) for text in BOAT)
    for room, first in ((size, 3), (size - 1, 2)):
        builder = FakeBuilder()
        memory = heard(new_gam(builder, buffer_tokens=room), session(*BOAT, "It sails."))
        assert len(runs(memory)[0]) == first
        assert len(builder.asked("gam_boundary")) == 1


def test_of_a_full_buffer_what_follows_the_change_of_subject_stays_where_it_leaves_room() -> None:
    size = sum(tokens.count(text) for text in (*BOAT, *CAKE))
    memory = new_gam(FakeBuilder(gam_boundary=starts_with("Now")), buffer_tokens=size)
    heard(memory, session(*BOAT, *CAKE, "Very."))
    assert runs(memory) == [list(BOAT), [*CAKE, "Very."]]


def test_a_turn_longer_than_a_buffer_is_a_buffer_of_its_own_and_shown_cut() -> None:
    long = "sail " * 50
    builder = FakeBuilder()
    memory = heard(new_gam(builder, buffer_tokens=20), session("Hi.", long, "Bye."))
    assert runs(memory) == [["Hi."], [long], ["Bye."]]
    (_, _, _, shown) = json.loads(builder.asked("gam_topic")[1].inputs["turns"])[0]
    assert tokens.count(shown) == 20


def test_fixed_blocks_ask_no_detector_and_end_where_the_buffer_is_full() -> None:
    size = sum(tokens.count(text) for text in BOAT)
    builder = FakeBuilder(gam_boundary=starts_with("Now"))
    memory = new_gam(builder, profile="no_state_switching", buffer_tokens=size)
    heard(memory, session(*BOAT[:2]), session(BOAT[2], *CAKE, position=1))
    assert runs(memory) == [list(BOAT), list(CAKE)]
    assert (len(builder.asked("gam_boundary")), len(builder.asked("gam_topic"))) == (0, 1)


def test_without_topics_nobody_is_asked_and_full_buffers_are_archived() -> None:
    builder = FakeBuilder()
    memory = new_gam(builder, profile="no_topics", buffer_tokens=sum(map(tokens.count, BOAT)))
    heard(memory, session(*BOAT), session(*CAKE, position=1))
    assert (runs(memory), builder.requests, memory.graph.links) == ([list(BOAT), list(CAKE)], [], {})


def test_without_an_event_graph_what_waits_becomes_a_topic_in_the_end_and_else_it_stays() -> None:
    for profile, last in (("no_event_graph", []), ("published", list(BOAT))):
        memory = heard(new_gam(profile=profile), session(*BOAT))
        memory.finish()
        assert runs(memory)[-1] == last


# Topics and links


def placed() -> PlacedEmbedder:
    """Three topics beside the last: at cosines .9, .8 and .7."""
    embedder = PlacedEmbedder()
    for name, cosine in (("near", 0.9), ("middle", 0.8), ("far", 0.7)):
        embedder.place(f"about {name}", "about last", cosine)
    return embedder


def linking(*links: Any) -> FakeBuilder:
    return FakeBuilder(
        gam_boundary=starts_with("far", "near", "middle", "last", "end"),
        gam_topic=summed_up,
        gam_links={"links": list(links)},
    )


TALK = session("far", "near", "middle", "last"), session("end", position=1)


def test_a_topic_is_compared_with_its_nearest_and_linked_above_tau_alone() -> None:
    builder = linking({"topic": "t1", "confidence": 0.51}, {"topic": "t2", "confidence": 0.5})
    memory = heard(new_gam(builder, placed(), nearest_topics=2), *TALK)
    request = builder.asked("gam_links")[-1]
    assert request.user.splitlines() == [
        "New topic: about last",
        "Earlier topics:",
        "[t1] about near",
        "[t2] about middle",
    ]
    assert (1, 3) in memory.graph.links and (2, 3) not in memory.graph.links
    assert memory.graph.links[1, 3] == 0.51


def test_links_to_topics_that_were_not_shown_or_of_no_confidence_count_for_nothing() -> None:
    builder = linking(
        {"topic": "t9", "confidence": 1.0}, {"topic": "t0", "confidence": 1.0},
        {"topic": "t1", "confidence": 7}, {"topic": "t1", "confidence": "high"}, "t1", {"topic": "t1"},
        {"topic": "t1", "confidence": 0.6}, {"topic": "t1", "confidence": 0.9},
    )  # fmt: skip
    memory = heard(new_gam(builder, placed()), *TALK)
    assert set(memory.graph.links.values()) == {0.6}


def test_causes_are_kept_if_they_name_shown_turns_in_order_of_time() -> None:
    causes = [("u1", "u3"), ("u3", "u1"), ("u2", "u2"), ("u1", "u9"), ("h#0.0", "u2"), ("u1", "u3")]
    reply = {"summary": "s", "causes": [{"cause": a, "effect": b} for a, b in causes] + [None, {"cause": 1}]}
    builder = FakeBuilder(gam_boundary=starts_with("Now"), gam_topic=reply)
    memory = heard(new_gam(builder), session(*BOAT), session(*CAKE, position=1), session("Now!", position=2))
    assert memory.graph.causes == [(0, 2)]


def test_events_are_joined_in_time_within_their_graph_alone() -> None:
    memory = new_gam(FakeBuilder(gam_boundary=starts_with("Now")))
    heard(memory, session(*BOAT), session(*CAKE, position=1))
    assert list(memory.graph.next_in_time()) == [(0, 1), (1, 2), (3, 4)]


# Calls


def test_calls_are_one_a_check_one_a_topic_and_one_for_the_links_of_each_but_the_first() -> None:
    builder = linking()
    heard(new_gam(builder), *TALK)
    counts = [len(builder.asked(task)) for task in ("gam_boundary", "gam_topic", "gam_links")]
    assert counts == [1, 4, 3]


FINAL = CallFailed("stayed unusable", final=True)


@pytest.mark.parametrize("reply", [FINAL, "", "no json", "[]", {"other": 1}, {"starts": "u4"}])
def test_without_a_usable_reply_the_buffer_goes_on_and_the_failure_is_flagged(reply: Any) -> None:
    memory = heard(new_gam(FakeBuilder(gam_boundary=reply)), session(*BOAT), session(*CAKE, position=1))
    assert runs(memory) == [[*BOAT, *CAKE]]
    assert "replies_failed" in memory.recall(asking("boat?")).flags


@pytest.mark.parametrize("reply", [FINAL, "", {"summary": 3}, {"summary": " \n "}, "[]"])
def test_a_topic_without_a_summary_stands_where_its_turns_stand(reply: Any) -> None:
    embedder = PlacedEmbedder()
    builder = FakeBuilder(gam_boundary=starts_with("Now"), gam_topic=reply)
    memory = heard(new_gam(builder, embedder), session("one", "two"), session("Now", position=1))
    cosines = [float(memory.graph.topic_cosines(embedder.vector(text))[0]) for text in ("one", "two", "Now")]
    assert cosines == pytest.approx([0.5**0.5, 0.5**0.5, 0.0])
    assert builder.asked("gam_links") == []


@pytest.mark.parametrize("fault", [CallFailed("lost", final=False), CallRefused("budget")])
@pytest.mark.parametrize("task", ["gam_boundary", "gam_topic", "gam_links"])
def test_faults_of_transport_and_refusals_are_not_caught(fault: Exception, task: str) -> None:
    def refuse(request: ChatRequest) -> Any:
        raise fault

    builder = linking()
    builder.replies[task] = refuse
    with pytest.raises(type(fault)):
        heard(new_gam(builder), *TALK)


def test_a_summary_without_end_is_cut() -> None:
    builder = FakeBuilder(gam_boundary=starts_with("Now"), gam_topic={"summary": "long " * 10_000})
    memory = heard(new_gam(builder), session("one"), session("Now", position=1))
    assert len(memory.graph.topics[0].summary) == 600


# Any conversation

STREAMS = st.lists(
    st.lists(st.sampled_from(["a", "sail", "the boat is blue now", ""]), max_size=6), max_size=5
)


def streamed(texts: list[list[str]]) -> list[Session]:
    return [session(*said, position=place) for place, said in enumerate(texts)]


def any_starts(data: st.DataObject) -> Any:
    def reply(request: ChatRequest) -> Any:
        ids = [turn[0] for turn in json.loads(request.inputs["turns"])]
        return {"starts": data.draw(st.lists(st.sampled_from([*ids, "u99", ""]), max_size=4))}

    return reply


@settings(max_examples=60)
@given(STREAMS, st.integers(1, 12), st.data())
def test_every_turn_lies_in_one_event_graph_and_no_buffer_overflows(
    texts: list[list[str]], room: int, data: st.DataObject
) -> None:
    memory = new_gam(FakeBuilder(gam_boundary=any_starts(data)), buffer_tokens=room)
    said: list[str] = []
    for part in streamed(texts):
        heard(memory, part)
        said += [turn.id for turn in part.turns]
        graph = memory.graph
        places = [*(topic.places for topic in graph.topics), graph.active]
        assert [graph.utterances[place].held.turn.id for run in places for place in run] == said
        assert all(len(topic.places) for topic in graph.topics)
        for run in places:
            assert len(run) <= 1 or sum(graph.utterances[place].tokens for place in run) <= room


@settings(max_examples=30)
@given(STREAMS, st.integers(1, 12))
def test_a_memory_that_hears_turn_by_turn_is_that_which_hears_whole_sessions(
    texts: list[list[str]], room: int
) -> None:
    whole, parts = (
        new_gam(
            FakeBuilder(gam_boundary=starts_with("sail"), gam_topic=summed_up),
            FakeHashEmbedder(),
            buffer_tokens=room,
        )
        for _ in range(2)
    )
    for part in streamed(texts):
        heard(whole, part)
        heard(parts, *(replace(part, turns=(turn,)) for turn in part.turns))
    assert whole.tables() == parts.tables()
