"""Source lines, chunks, requests to the curator, and what is read of its replies."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory import tokens
from memory.conversation import Session, Turn
from memory.lines import Line, chunked, source_lines
from memory.prompts import rd_curate, rd_select
from memory.rdforget.curation import curated, curation_request, normal_slot
from memory.systems.turns import stored
from tests.memory.fake_models import MAY, session
from tests.memory.rdforget.fakes import FakeCurator, asked, fact, rd_settings


def lines_of(*sessions):
    return source_lines(turn for each in sessions for turn in stored(each))


def test_a_line_is_one_of_a_turn_that_is_not_blank_with_its_date_and_its_speaker():
    found = lines_of(session("Hello.\n\n  Bye.  ", "", "So."))
    assert [(line.id, line.text, line.turn) for line in found] == [
        ("L1", "[2023-05-20] Ann: Hello.", "h#0.0"),
        ("L2", "[2023-05-20] Ann: Bye.", "h#0.0"),
        ("L3", "[2023-05-20] Ann: So.", "h#0.2"),
    ]


def test_an_images_caption_is_a_line():
    turn = Turn("h#0.0", "user", "Ann", "Look!", "a boat")
    [_, caption] = lines_of(Session("s", "h", 0, None, (turn,)))
    assert caption.text == "Ann: [a boat]"


def test_lines_are_in_order_of_time_and_those_without_a_date_come_first():
    sessions = [
        session("late", position=0, date=MAY),
        session("early", position=1, date=MAY - timedelta(days=9)),
        session("never", position=2, date=None),
    ]
    assert [line.turn for line in lines_of(*sessions)] == ["h#2.0", "h#1.0", "h#0.0"]


def line(place, words):
    return Line(f"L{place}", " ".join(["word"] * words), "t")


def test_a_chunk_is_full_before_the_line_that_would_exceed_its_tokens_and_a_longer_line_stands_alone():
    some = [line(1, 10), line(2, 10), line(3, 500), line(4, 10)]
    one = tokens.count(f"[L1] {some[0].text}\n")
    assert [[each.id for each in chunk] for chunk in chunked(some, 2 * one)] == [["L1", "L2"], ["L3"], ["L4"]]
    assert [len(chunk) for chunk in chunked(some[:2], 2 * one - 1)] == [1, 1]
    assert chunked([], 5) == []


@pytest.mark.parametrize("profile", ["published", "query_intent"])
def test_a_chunk_takes_eight_thousand_tokens(profile):
    some = [line(place, 90) for place in range(1, 200)]
    first, *_ = chunked(some, rd_settings(profile).chunk_tokens)
    used = sum(tokens.count(f"[{each.id}] {each.text}\n") for each in first)
    assert 7_800 < used <= 8_000


@given(st.lists(st.integers(1, 60), max_size=20), st.integers(1, 120))
def test_chunks_hold_every_line_once_and_in_order(sizes, limit):
    some = [line(place, words) for place, words in enumerate(sizes)]
    assert [each for chunk in chunked(some, limit) for each in chunk] == some


# What the curator is asked

SOME = [Line("L1", "Ann: I left Acme for Beryl.", "h#0.0"), Line("L2", "Bob: Good luck!", "h#0.1")]


def prompt(profile="published", question=None, **changes):
    request = curation_request(
        SOME, question or asked("Where does Ann work?"), rd_settings(profile, **changes)
    )
    return request, f"{request.system}\n{request.user}"


def test_the_curator_sees_question_date_and_lines():
    request, _ = prompt(question=rd_curate.Asked("Where does\nAnn work?", "2023-06-01"))
    assert request.user == (
        "Question: Where does Ann work?\nAsked on: 2023-06-01\n\nArchive:\n"
        "[L1] Ann: I left Acme for Beryl.\n[L2] Bob: Good luck!"
    )
    assert json.loads(request.inputs["lines"]) == [[each.id, each.text] for each in SOME]
    assert request.inputs["question"] == "Where does\nAnn work?"


def test_without_query_conditioning_neither_prompt_nor_inputs_hold_anything_of_the_question():
    request, shown = prompt("no_qc", question=rd_curate.Asked("Zebra?", "2024-02-03", "quokka"))
    told = shown + json.dumps(dict(request.inputs))
    assert not any(word in told for word in ("Zebra", "2024-02-03", "quokka"))
    assert request.inputs["evidence"] == "general"


def test_without_closure_the_curator_is_asked_for_direct_matches_and_not_for_the_chain():
    full, direct = prompt()[0], prompt("no_closure")[0]
    assert "every step" in full.system and "every step" not in direct.system
    assert "directly" in direct.system and "directly" not in full.system
    assert (full.inputs["evidence"], direct.inputs["evidence"]) == ("chain", "direct")


def test_the_three_other_ablations_ask_what_full_asks_so_that_their_curation_costs_nothing_more():
    full = prompt()[0]
    assert all(prompt(profile)[0] == full for profile in ("no_forget", "no_rescue", "no_slot"))


def test_only_the_protocol_for_query_intent_and_the_improved_one_say_what_several_states_at_once_need():
    assert ["contradict" in prompt(profile)[0].system for profile in ("published", "query_intent", "improved")] == [
        False, True, True,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("profile", "cap"), [("published", 4096), ("no_closure", 4096), ("query_intent", 8192), ("no_qc", 8192)]
)
def test_a_curations_reply_is_capped(profile, cap):
    assert prompt(profile)[0].max_tokens == cap


# What is read of its replies


def claims(*active, replaced=()):
    chat = FakeCurator({"active": list(active), "replaced": list(replaced)})
    [found] = curated([SOME], asked("?"), rd_settings(), chat)
    return found


def test_a_claim_stands_on_the_turns_of_the_lines_that_its_source_names():
    found = claims(fact("x", source="L2, [L1]"), fact("y", source="L2"), fact("z", source="L9"), fact("w"))
    assert [claim.turns for claim in found] == [("h#0.0", "h#0.1"), ("h#0.1",), (), ()]


def test_a_source_that_quotes_a_line_stands_on_its_turn():
    assert claims(fact("x", source="good LUCK!"))[0].turns == ("h#0.1",)


def test_a_source_may_be_a_list_of_ids():
    assert claims(fact("x", source=["L1", "L2"]))[0].turns == ("h#0.0", "h#0.1")


def test_what_several_lines_say_such_as_their_speaker_quotes_none_of_them():
    both = [*SOME, Line("L3", "Ann: Thank you!", "h#0.2")]
    chat = FakeCurator({"active": [fact("x", source="Ann"), fact("y", source="Bob")], "replaced": []})
    [found] = curated([both], asked("?"), rd_settings(), chat)
    assert [claim.turns for claim in found] == [(), ("h#0.1",)]


def test_what_has_no_content_is_no_claim():
    found = claims(
        fact(" \n "), fact(None), fact(7), fact(["x"]), {}, "x", None, {"statement": "kept"},
        replaced=[fact(""), fact("old", None)],
    )  # fmt: skip
    assert [(claim.statement, claim.replaced) for claim in found] == [("kept", False), ("old", True)]


def test_a_statement_is_brought_onto_one_line_so_that_it_cannot_pass_for_another_entry():
    [claim] = claims(fact("old\n[e9 active] lie", "a\n|b"))
    assert claim.statement == "old [e9 active] lie"


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("  Ann |  Works  FOR| job ", "ann|works for|job"),
        ("ann|works for|job|||", "ann|works for|job|||"),  # three bars too many: a key like any other
        ("|" * 1000, ""),
        (" | | ", ""),
        ("", ""),
        ("ann", "ann"),
        ("ÄRZTE|x", "ärzte|x"),
    ],
)
def test_slots_are_keys_in_lower_case_without_blanks_around_their_parts(written, kept):
    assert normal_slot(written) == kept


@pytest.mark.parametrize("text", ["", "no JSON", "[]", '{"facts": []}', '{"active": "x", "replaced": 1}'])
def test_a_reply_without_either_list_is_unusable(text):
    with pytest.raises(ValueError, match="reply"):
        rd_curate.read(text)


def test_one_of_the_two_lists_is_enough():
    assert rd_curate.read('{"replaced": [{"statement": "x"}]}').replaced[0].statement == "x"
    assert rd_curate.read('{"active": [], "replaced": "none"}').replaced == []


@pytest.mark.parametrize("text", ["", "e1, e2", '{"id": ["e1"]}', '{"ids": "e1"}', '["e1"]'])
def test_a_selection_without_a_list_of_ids_is_unusable(text):
    with pytest.raises(ValueError, match="reply"):
        rd_select.read(text)


def test_a_selections_ids_are_texts_each_once():
    assert rd_select.read('{"ids": ["e2", 1, null, ["e3"], "e2", "e1"]}') == ["e2", "e1"]
