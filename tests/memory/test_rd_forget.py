"""RD-Forget through the protocol: what it asks, what it shows, and that nothing of what it stores is lost."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import timedelta

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from memory import tokens
from memory.conversation import Question
from memory.errors import BadInput, CallFailed, CallRefused
from memory.protocol import Labelled, Models, Nobody
from memory.rdforget.settings import RD_FORGET_PROFILES
from memory.systems.rd_forget import RDForget
from tasks.recall import recall_row
from tests.memory.fake_models import MAY, session
from tests.memory.rdforget.fakes import NOTHING, FakeCurator, ask, fact, ids, line_ids, rd_settings, system

JOB, PLACE = "mara|works for|job", "beryl|stands in|city"
SAID = session(
    "Mara works for Acme.", "Mara has moved to Beryl.", "Beryl is in Oslo.", "How nice!", "It rains."
)
CURATED = {
    "active": [fact("Mara works for Beryl.", JOB, "L2", "since May"), fact("Beryl is in Oslo.", PLACE, "L3")],
    "replaced": [fact("Mara works for Acme.", JOB, "L1")],
}
NOW, BEFORE, CHAIN = "Who does Mara work for?", "Who did Mara work for before?", "How has Mara's job changed?"


def heard(chat=None, profile="published", **changes):
    memory = system(chat or FakeCurator(CURATED), profile, **changes)
    memory.remember(SAID, {})
    return memory


def shown(memory, question=NOW, **fields):
    return memory.recall(ask(question, **fields)).context.splitlines()


# A person changes her employer


def test_a_current_question_is_shown_what_holds_and_the_chain_to_it():
    recall = heard().recall(ask(NOW))
    assert recall.context == "[e1 active] Mara works for Beryl. (since May)\n[e2 active] Beryl is in Oslo."
    assert (recall.items, recall.flags) == (2, ())


def test_where_did_she_work_before_rescues_the_former_employer():
    recall = heard().recall(ask(BEFORE))
    assert "[e3 superseded] Mara works for Acme." in recall.context
    assert recall.flags == ("archive_rescue",)


def test_how_has_it_changed_keeps_both():
    assert {"[e1 active] Mara works for Beryl. (since May)", "[e3 superseded] Mara works for Acme."} <= set(
        shown(heard(), CHAIN)
    )


@pytest.mark.parametrize(
    ("profile", "question", "acme"),
    [
        ("published", NOW, None),
        ("published", BEFORE, "superseded"),
        ("no_forget", NOW, "active"),
        ("no_forget", BEFORE, "active"),
        ("no_slot", NOW, "active"),
        ("no_rescue", BEFORE, None),
        ("no_closure", BEFORE, "superseded"),
        ("no_qc", NOW, None),
        ("no_qc", BEFORE, "superseded"),
    ],
)
def test_what_each_ablation_makes_of_the_former_employer(profile, question, acme):
    lines = [line for line in shown(heard(profile=profile), question) if "Acme" in line]
    assert lines == ([] if acme is None else [f"[e3 {acme}] Mara works for Acme."])


def test_a_rescue_is_counted_once_for_each_entry_that_is_shown_and_not_for_what_is_active():
    replaced = [fact(f"Mara worked for {name}.", JOB) for name in ("Acme", "Crane", "Dune")]
    chat = FakeCurator({**CURATED, "replaced": replaced}, {"ids": ["e1", "e3", "e5"]})
    assert heard(chat).recall(ask(BEFORE)).flags == ("archive_rescue", "archive_rescue")
    assert heard(chat, "no_forget").recall(ask(BEFORE)).flags == ()


def test_the_benchmarks_label_rescues_too_where_the_settings_read_labels():
    asked = ask(NOW, label="temporal-reasoning")
    assert "archive_rescue" in heard().recall(asked).flags
    assert heard(profile="improved").recall(asked).flags == ()
    chat = FakeCurator(CURATED)
    heard(chat, "improved").recall(asked)
    assert not any("temporal" in request.user + str(request.inputs) for request in chat.requests)
    heard(chat).recall(asked)
    assert all("Kind of question: temporal-reasoning" in request.user for request in chat.requests[2:])


def test_the_stage_hands_in_the_label_only_where_the_settings_read_labels():
    question = Question("q", "h", "temporal-reasoning", NOW, "Beryl")
    flags = {intent: recall_row(heard(intent=intent), question)["flags"] for intent in ("lexical", "labels")}
    assert flags == {"lexical": [], "labels": ["archive_rescue"]}
    assert isinstance(heard(), Labelled)


# Calls


def test_a_question_costs_one_call_a_chunk_and_one_for_the_selection():
    chat = FakeCurator(CURATED)
    heard(chat).recall(ask(NOW))
    assert [request.task for request in chat.requests] == ["rd_curate", "rd_select"]
    chat = FakeCurator(CURATED)
    heard(chat, chunk_tokens=1).recall(ask(NOW))  # a line a chunk
    assert [request.task for request in chat.requests] == ["rd_curate"] * 5 + ["rd_select"]
    assert [line_ids(request) for request in chat.asked("rd_curate")] == [[f"L{i}"] for i in range(1, 6)]


@pytest.mark.parametrize(("profile", "cap"), [("published", 256), ("no_qc", 256), ("query_intent", 2048)])
def test_a_selections_reply_is_capped(profile, cap):
    chat = FakeCurator(CURATED)
    heard(chat, profile).recall(ask(NOW))
    assert chat.requests[-1].max_tokens == cap


def test_without_query_conditioning_the_history_is_curated_once_and_only_the_selector_sees_questions():
    chat = FakeCurator(CURATED)
    memory = heard(chat, "no_qc", chunk_tokens=1)
    for question in (NOW, BEFORE, CHAIN):
        memory.recall(ask(question))
    assert [request.task for request in chat.requests] == ["rd_curate"] * 5 + ["rd_select"] * 3
    assert [request.inputs["question"] for request in chat.asked("rd_select")] == [NOW, BEFORE, CHAIN]
    memory.remember(session("It snows.", position=1, date=MAY + timedelta(days=1)), {})
    memory.recall(ask(NOW))
    assert line_ids(chat.asked("rd_curate")[-1]) == [
        "L6"
    ]  # the chunks that are as they were are not curated again
    assert len(chat.requests) == 10


def test_the_same_calls_serve_every_budget():
    chat = FakeCurator(CURATED)
    memory = heard(chat)
    contexts = [memory.recall_tokens(ask(NOW), limit).context for limit in (250, 15, 0)]
    assert [context.count("\n") + bool(context) for context in contexts] == [2, 1, 0]
    assert chat.requests[:2] == chat.requests[2:4] == chat.requests[4:]


def test_nothing_is_asked_where_nothing_is_stored():
    chat = FakeCurator()
    recall = system(chat).recall(ask(NOW))
    assert (recall.context, recall.provenance, chat.requests) == ("", (), [])


def test_no_selector_is_asked_where_nothing_is_eligible():
    chat = FakeCurator()
    recall = heard(chat, fallback_lines=0).recall(ask(NOW))
    assert (recall.items, [request.task for request in chat.requests]) == (0, ["rd_curate"])


# The selector


def test_the_selectors_order_is_the_order_of_context_and_provenance():
    recall = heard(FakeCurator(CURATED, {"ids": ["e2", "e1"]})).recall(ask(NOW))
    assert [line[:4] for line in recall.context.splitlines()] == ["[e2 ", "[e1 "]
    assert [(source.turn, source.score) for source in recall.provenance] == [("h#0.2", 1.0), ("h#0.1", 0.5)]
    assert recall.stands_on == ("h#0.2", "h#0.1")


@pytest.mark.parametrize(
    "reply",
    [
        {"ids": []},
        {"ids": ["e99", "L1", "../e1", "E1"]},
        {"ids": ["e3"]},  # superseded, and the question is not historical: it was no candidate
        "I would take the first.",
        CallFailed("no usable reply", final=True),
    ],
)
def test_where_the_selector_names_no_candidate_the_order_of_the_candidates_stands(reply):
    recall = heard(FakeCurator(CURATED, reply)).recall(ask("Is Oslo in the story of Beryl?"))
    assert recall.flags == ("selector_fallback",)
    assert [line[:4] for line in recall.context.splitlines()] == [
        "[e2 ",
        "[e1 ",
    ]  # Oslo and Beryl, then Beryl


def test_the_selector_sees_status_slot_and_what_replaced_an_entry():
    chat = FakeCurator(CURATED)
    heard(chat).recall(ask(BEFORE))
    entries = chat.requests[-1].user.split("Entries:\n")[1].splitlines()
    assert "[e3] (superseded by e1) <mara|works for|job> Mara works for Acme." in entries
    assert (
        json.loads(chat.requests[-1].inputs["candidates"])[0]["statement"]
        == "Mara works for Beryl. (since May)"
    )


# The lexical fallback and faults


def test_where_curation_yields_nothing_the_lines_with_the_most_overlap_stand_in():
    chat = FakeCurator(NOTHING, lambda request: {"ids": ids(request)[:2]})
    recall = heard(chat).recall(ask("Is Beryl in Oslo?"))
    assert recall.context.splitlines() == [
        "[e1 active] [2023-05-20] Ann: Beryl is in Oslo.",
        "[e2 active] [2023-05-20] Bob: Mara has moved to Beryl.",
    ]
    assert recall.flags == ("lexical_fallback",)
    assert recall.stands_on == ("h#0.2", "h#0.1")


def test_without_query_conditioning_the_fallback_sees_the_question():
    recall = heard(FakeCurator(NOTHING), "no_qc").recall(ask("Does it rain?"))
    assert recall.context.splitlines()[0] == "[e1 active] [2023-05-20] Ann: It rains."


def test_curation_that_yields_only_what_was_replaced_by_nothing_has_no_usable_entries():
    only = {"active": [], "replaced": [fact("Mara works for Acme.", JOB)]}
    assert heard(FakeCurator(only)).recall(ask(NOW)).flags == ("lexical_fallback",)
    deprecated = heard(FakeCurator(only), "no_qc").recall(ask(BEFORE))
    assert deprecated.context == "[e1 deprecated] Mara works for Acme."
    assert deprecated.flags == ("archive_rescue",)


def failing(line, failure):
    return lambda request: failure if line in line_ids(request) else CURATED


@pytest.mark.parametrize("profile", ["published", "no_qc"])
@pytest.mark.parametrize("failure", [CallFailed("stayed unusable", final=True), "Sorry!"])
def test_a_chunk_without_a_usable_reply_is_counted_and_the_others_go_on(profile, failure):
    memory = heard(FakeCurator(failing("L2", failure)), profile, chunk_tokens=1)
    for _ in range(2):
        recall = memory.recall(ask(NOW))
        assert recall.flags == ("chunk_failed",)
        assert recall.items == 2


def test_where_every_chunk_fails_the_fallback_stands_in():
    chat = FakeCurator(CallFailed("stayed unusable", final=True))
    flags = heard(chat, chunk_tokens=1).recall(ask(NOW)).flags
    assert flags == (*["chunk_failed"] * 5, "lexical_fallback")


@pytest.mark.parametrize("profile", ["published", "no_qc"])
def test_a_fault_of_transport_fails_the_recall_and_the_next_one_may_succeed(profile):
    fault = CallFailed("timed out", final=False)
    memory = heard(FakeCurator(failing("L2", fault)), profile, chunk_tokens=1)
    with pytest.raises(CallFailed, match="timed out"):
        memory.recall(ask(NOW))
    memory.models.chat.replies["rd_curate"] = CURATED
    assert memory.recall(ask(NOW)).flags == ()
    memory.models.chat.replies["rd_select"] = fault
    with pytest.raises(CallFailed, match="timed out"):
        memory.recall(ask(NOW))


def test_a_refused_call_stops_the_run():
    def refuse(request):
        raise CallRefused("the key is refused")

    with pytest.raises(CallRefused):
        heard(FakeCurator(refuse)).recall(ask(NOW))


# Packing and hostile replies


def test_what_is_chosen_and_does_not_fit_is_left_out_and_said():
    memory = heard(budget_tokens=14)  # the second entry costs 6 + 8, the first more
    recall = memory.recall(ask(NOW))
    assert recall.context == "[e2 active] Beryl is in Oslo."
    assert recall.flags == ("trimmed",)
    assert memory.recall_tokens(ask(NOW), 13).context == ""


def test_a_thousand_slots_of_a_hostile_reply_stay_within_candidates_and_budget():
    many = {
        "active": [fact(f"fact {i} " + "word " * 30, "|" * i + f"s{i}") for i in range(1000)],
        "replaced": [],
    }
    chat = FakeCurator(many)
    recall = heard(chat, "improved").recall(ask(NOW))
    assert tokens.count(chat.requests[-1].user.split("Entries:\n")[1]) <= 10_000
    assert 0 < tokens.count(recall.context) <= 2_000


junk = (
    st.none() | st.integers() | st.text("aé|\n[]e1L2", max_size=8) | st.lists(st.text(max_size=2), max_size=2)
)
facts = st.fixed_dictionaries({}, optional=dict.fromkeys(("statement", "slot", "source", "validity"), junk))
replies = st.fixed_dictionaries(
    {"active": st.lists(facts | junk, max_size=4), "replaced": st.lists(facts, max_size=4)}
)


@budget(max_examples=40, deadline=None)
@given(
    replies,
    st.lists(junk, max_size=4),
    st.sampled_from(sorted(RD_FORGET_PROFILES)),
    st.sampled_from([NOW, BEFORE]),
)
def test_whatever_curator_and_selector_reply_the_context_keeps_to_its_budget_and_stands_on_stored_turns(
    reply, chosen, profile, question
):
    recall = heard(FakeCurator(reply, {"ids": chosen}), profile, budget_tokens=30).recall(ask(question))
    assert tokens.count(recall.context) <= 30
    assert len(recall.context.splitlines()) == recall.items
    assert {source.turn for source in recall.provenance} <= {turn.id for turn in SAID.turns}


# Storage


@pytest.mark.parametrize("profile", ["published", "no_qc"])
def test_recalling_deletes_nothing_of_what_is_stored(profile):
    memory = heard(profile=profile)
    before = memory.tables()["turns"]
    memory.recall(ask(NOW))
    assert memory.tables()["turns"].equals(before)
    assert memory.size().items == len(SAID.turns)


def test_what_was_curated_for_any_question_comes_back_from_the_tables_and_counts_as_stored():
    memory = heard(profile="no_qc")
    empty = memory.size().bytes
    recall = memory.recall(ask(BEFORE))
    assert memory.size().bytes > empty
    chat = FakeCurator(CallFailed("must not be asked", final=True), {"ids": ["e1", "e2", "e3"]})
    back = RDForget.from_tables(memory.tables(), rd_settings("no_qc"), Models(chat, Nobody()))
    assert set(back.recall(ask(BEFORE)).context.splitlines()) == set(recall.context.splitlines())
    assert chat.asked("rd_curate") == []
    assert back.size() == memory.size()
    assert back.tables()["chunks"].equals(memory.tables()["chunks"])


def test_a_table_of_other_columns_is_refused():
    tables = {**heard().tables(), "chunks": pa.table({"other": [1]})}
    with pytest.raises(BadInput, match="build it again"):
        RDForget.from_tables(tables, rd_settings(), Models(Nobody(), Nobody()))


def test_a_memory_holds_of_a_turn_its_lines():
    memory = system(FakeCurator())
    said = session("I adopted a cat.\n\nIt is called Miso.", "Lovely!", date=None)
    memory.remember(said, {})
    assert memory.standing_on(said.turns[0]) == ["Ann: I adopted a cat.", "Ann: It is called Miso."]
    assert memory.standing_on(replace(said.turns[0], id="h#9.9")) == []
