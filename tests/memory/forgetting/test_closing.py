"""Forgetting in storage as a setting: after the last session a memory keeps a share of its bytes, and no more."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import settings as effort
from hypothesis import strategies as st
from pydantic import ValidationError

from memory.conversation import OracleQuery, Query
from memory.errors import BadInput
from memory.forgetting.limits import Limit
from memory.forgetting.passes import forget, states_of
from memory.forgetting.policies import POLICIES, policy
from memory.forgetting.states import Clock
from memory.graph import stamp
from memory.protocol import Finishing
from memory.systems import find
from memory.systems.graph import GraphMemory
from memory.tables import same
from tests.memory.fake_models import MAY, asks_about, extraction, models, session, settings, titles
from tests.memory.rdforget.fakes import NOTHING, FakeCurator, ask, line_ids
from tests.memory.rdforget.fakes import system as rd_system
from tests.memory.test_any_stream import fed, profiles, streams

TURNS = ("flat", "bm25", "full_context", "oracle", "rd_forget")
WITHOUT_VECTORS = ("bm25", "full_context", "oracle", "rd_forget")
VECTORS = ("fademem", "memory_stream")
TEXTS = ("first", "second", "third", "fourth")


def heard(system, *texts, **changes):
    """A memory that has heard a turn a month."""
    kind = find(system)
    memory = kind(kind.Settings(**changes), models(asks_about()))
    for place, text in enumerate(texts):
        memory.remember(session(text, position=place, date=MAY + timedelta(days=30 * place)), {})
    return memory


def closed(system, *texts, **changes):
    memory = heard(system, *texts, **changes)
    memory.finish()
    return memory


def kept(memory):
    return [held.turn.text for held in memory.turns]


def index_of(memory):
    """Bytes of an index of words, which follows from the texts and is no part of what a share is of."""
    return memory.index.nbytes if hasattr(memory, "index") else 0


# Turns


@pytest.mark.parametrize("system", TURNS)
def test_the_oldest_turns_go_until_what_is_left_has_no_more_than_the_share_of_the_bytes(system):
    # A turn takes its id, its speaker's name and its text, and in flat retrieval 64 bytes of its vector.
    extra = 64 if system == "flat" else 0
    sizes = [len("h#0.0") + len("Ann") + len(text) + extra for text in TEXTS]
    assert heard(system, *TEXTS).size().bytes - index_of(heard(system, *TEXTS)) == sum(sizes)
    for limit, left in ((sum(sizes[2:]), 2), (sum(sizes[2:]) - 1, 1), (0, 0), (sum(sizes), 4)):
        memory = closed(system, *TEXTS, retention="oldest", kept=limit / sum(sizes))
        assert kept(memory) == list(TEXTS[4 - left :])
        assert memory.size().bytes - index_of(memory) == sum(sizes[4 - left :])


@pytest.mark.parametrize("system", TURNS)
def test_without_a_policy_nothing_is_forgotten(system):
    memory = closed(system, *TEXTS)
    assert kept(memory) == list(TEXTS)
    memory.remember(session("fifth", position=4), {})
    assert kept(memory) == [*TEXTS, "fifth"]


@pytest.mark.parametrize("system", TURNS)
def test_a_memory_that_has_forgotten_hears_no_more(system):
    memory = closed(system, *TEXTS, retention="oldest", kept=0.5)
    before = memory.size()
    memory.finish()
    with pytest.raises(BadInput, match="has forgotten after its last session"):
        memory.remember(session("fifth", position=4), {})
    assert memory.size() == before


@pytest.mark.parametrize("system", TURNS)
def test_what_was_forgotten_stays_away_when_the_memory_comes_back_from_its_tables(system):
    memory = closed(system, *TEXTS, retention="oldest", kept=0.5)
    back = find(system).from_tables(memory.tables(), memory.settings, memory.models)
    back.finish()
    assert kept(back) == kept(memory) and back.size() == memory.size()
    query = OracleQuery("q", "h", "first?", None, ("h#0.0", "h#3.0"))
    assert back.recall(query) == memory.recall(query)
    with pytest.raises(BadInput, match="can hear no other"):
        back.remember(session("fifth", position=4), {})


@pytest.mark.parametrize("system", ["flat", "bm25", "full_context", "oracle"])
def test_no_context_shows_what_was_forgotten(system):
    memory = closed(system, *TEXTS, retention="oldest", kept=0.5)
    recall = memory.recall(OracleQuery("q", "h", "first second", None, ("h#0.0", "h#3.0")))
    assert {source.turn for source in recall.provenance} <= {"h#2.0", "h#3.0"}
    assert "fourth" in recall.context and "first" not in recall.context


def test_rd_forget_curates_only_what_is_still_stored():
    chat = FakeCurator(NOTHING)
    memory = rd_system(chat, "published", retention="oldest", kept=0.5)
    memory.remember(session(*TEXTS), {})
    memory.finish()
    recall = memory.recall(ask("Is first or fourth there?"))
    [curation] = chat.asked("rd_curate")
    assert line_ids(curation) == ["L1", "L2"]
    assert "third" in curation.user and "fourth" in curation.user and "second" not in curation.user
    assert set(recall.stands_on) == {"h#0.2", "h#0.3"}


def test_rd_forget_forgets_what_was_curated_of_a_turn_with_it():
    chat = FakeCurator({"active": [{"statement": "The secret.", "source": "L1"}], "replaced": []})
    memory = rd_system(chat, "no_qc", retention="oldest", kept=0.0)
    memory.remember(session("The secret.", "More."), {})
    assert "secret" in memory.recall(ask("?")).context
    memory.finish()
    assert memory.recall(ask("?")).context == ""
    assert memory.tables()["chunks"].num_rows == 0 and memory.size().bytes == 0


def test_draws_of_a_random_policy_differ_and_each_comes_again():
    texts = [f"turn {place}" for place in range(10, 30)]
    draws = [kept(closed("bm25", *texts, retention="random", kept=0.5, draw=draw)) for draw in (0, 1, 0)]
    assert draws[0] == draws[2] != draws[1]
    assert len(draws[0]) == len(draws[1]) == 10


def test_the_pass_is_at_the_last_date_that_was_heard_and_a_later_date_counts_as_now():
    memory = heard("bm25", retention="recency", kept=0.25)
    days = {"summer": 300, "spring": 0, "autumn": None, "winter": -300}
    for place, (text, day) in enumerate(days.items()):
        date = None if day is None else MAY + timedelta(days=day)
        memory.remember(session(text, position=place, date=date), {})
    memory.finish()
    # At the date of `winter`, which was heard last, all dated turns are as recent; of equal ones the last heard stays.
    assert kept(memory) == ["winter"]


def test_a_pass_after_undated_sessions_is_at_the_last_date_that_is_known():
    memory = heard("bm25", "spring", "summer", retention="recency", kept=1 / 3)
    memory.remember(session("autumn", position=2, date=None), {})
    memory.finish()
    assert kept(memory) == ["summer"]  # `autumn` has no date, and so no recency


@effort(max_examples=40, deadline=None)
@given(
    st.lists(st.text(max_size=12), max_size=6),
    st.floats(0, 1),
    st.sampled_from(sorted(set(POLICIES) - set(VECTORS))),
    st.sampled_from(TURNS),
)
def test_no_policy_leaves_more_than_the_share(texts, share, name, system):
    whole = heard(system, *texts).size().bytes
    memory = closed(system, *texts, retention=name, kept=share)
    assert memory.size().bytes <= round(share * whole)
    heard_in_order = iter(texts)
    assert all(text in heard_in_order for text in kept(memory))


# The graph

SAID = {
    "h#0.0": extraction([("Event", "first"), ("Event", "second")], [("first", "before", "second")]),
    "h#1.0": extraction([("Event", "third"), ("Event", "fourth")], [("third", "before", "fourth")]),
}


def graph(finish=True, **changes):
    memory = GraphMemory(settings("improved", **changes), models(asks_about(("Event", "first"))))
    memory.remember(session("a"), SAID)
    memory.remember(session("b", position=1, date=MAY + timedelta(days=300)), SAID)
    if finish:
        memory.finish()
    return memory


def test_a_graph_forgets_nodes_down_to_the_share_as_a_pass_of_that_limit_would():
    memory = graph(retention="oldest", kept=0.5)
    by_hand = graph(finish=False).graph
    half = round(0.5 * int(states_of(by_hand)[0].bytes.sum()))
    forget(by_hand, policy("oldest"), Limit(bytes=half), Clock(stamp(MAY + timedelta(days=300)), 2))
    assert titles(memory.graph) == titles(by_hand) == ["third", "fourth"]
    assert memory.size().bytes < graph().size().bytes
    recall = memory.recall(Query("q", "h", "first?"))
    assert "first" not in recall.context
    assert {source.turn for source in recall.provenance} <= {"h#1.0"}


def test_a_pruned_graph_comes_back_pruned_hears_no_more_and_forgets_no_more():
    memory = graph(retention="oldest", kept=0.5)
    back = GraphMemory.from_tables(memory.tables(), memory.settings, memory.models)
    back.finish()
    assert same(back.graph, memory.graph)
    for pruned in (memory, back):
        with pytest.raises(BadInput, match="leave the setting out"):
            pruned.remember(session("c", position=2), {})


@effort(max_examples=40, deadline=None)
@given(profiles, streams, st.floats(0, 1), st.sampled_from(sorted(POLICIES)))
def test_no_graph_keeps_more_than_the_share_and_it_stays_whole(profile, stream, share, name):
    whole = int(states_of(fed(profile, {}, stream).graph)[0].bytes.sum())
    memory = fed(profile, {"retention": name, "kept": share}, stream)
    memory.finish()
    memory.graph.check()
    assert states_of(memory.graph)[0].bytes.sum() <= round(share * whole)


def test_graphs_that_differ_in_what_a_question_needs_are_built_alike_and_those_that_forget_otherwise_are_not():
    alike = {"budget_tokens": 100, "entry_tokens": 2, "max_nodes": 3}
    assert not GraphMemory.built_by & alike.keys()
    assert {"retention", "kept", "draw", "session_order", "clean_titles"} <= GraphMemory.built_by


# Settings that cannot be


@pytest.mark.parametrize("system", WITHOUT_VECTORS)
@pytest.mark.parametrize("name", VECTORS)
def test_a_policy_that_reads_vectors_is_refused_where_there_are_none(system, name):
    with pytest.raises(ValidationError, match=f"retention {name} reads vectors, and this system keeps none"):
        find(system).Settings(retention=name, kept=0.5)
    assert kept(closed("flat", *TEXTS, retention=name, kept=0.0)) == []


@pytest.mark.parametrize("system", [*TURNS, "graph"])
def test_a_share_without_a_policy_and_a_policy_that_is_not_there_are_refused(system):
    kind = find(system)
    assert issubclass(kind, Finishing)
    with pytest.raises(ValidationError, match=r"kept is 0\.5, but retention names no policy"):
        kind.Settings(kept=0.5)
    with pytest.raises(ValidationError, match="no retention policy is named newest; there are: importance"):
        kind.Settings(retention="newest")
