"""Invented replies can be read by the project's readers, and invented vectors are like vectors."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.prompts import extraction, graft, graft_replies, query_entities
from memory.prompts.graft_replies import Edit
from memory.repair.protocol import Shown
from memory.validation import read_entities, read_extraction
from tasks.models import invented
from tasks.models.calls import Call
from tasks.models.foreseen import Span, chat_prompt
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import ChatSettings
from tasks.models.worst import prompt_bound
from tasks.prompts import answer, judge

ID = "a" * 64


@given(st.text(max_size=300))
def test_extractions_and_entities_of_any_text_are_readable(text: str) -> None:
    read_extraction(invented.reply_text(extraction.request("user", text, "role_aware"), ID), "reject")
    read_entities(invented.reply_text(query_entities.request(text), ID))


def test_answers_and_verdicts_are_readable_and_answers_differ_from_call_to_call() -> None:
    asked = answer.request("q", "c", profile="published", question_date=None)
    assert answer.read(invented.reply_text(asked, ID)) != answer.read(invented.reply_text(asked, "b" * 64))
    verdict = judge.request("paper", "q", "r", "a", question_type="t", abstention=False)
    assert judge.read_verdict(invented.reply_text(verdict, ID)).correct


def test_a_repair_that_is_invented_asks_all_that_it_can_ask() -> None:
    episode = Shown("ep-1", "episode", "[9:00 am on 9 May, 2023] Bob: I own a kayak.", 0.4)
    asked = "What does Bob own?"
    assert graft_replies.read_diagnosis(invented.reply_text(graft.diagnose(asked, "a", [episode]), ID)) == 0
    assert graft_replies.read_probes(invented.reply_text(graft.probe(asked, "a", [episode], None), ID))
    planned = graft.plan(asked, "a", [("And now?", [episode])], (), (), None)
    [edit] = graft_replies.read_plan(invented.reply_text(planned, ID))
    assert edit.ids == ("ep-1",)
    checked = graft.verify(asked, "a", [episode], [Edit("fact", edit.text)])
    assert graft_replies.read_verification(invented.reply_text(checked, ID)).passed == {1}


@given(st.text(min_size=1, max_size=200), st.floats(-1, 1))
def test_a_vector_follows_from_its_text_and_has_unit_length(text: str, floor: float) -> None:
    vector = invented.vector(text, floor, 384)
    assert np.array_equal(vector, invented.vector(text, floor, 384))
    assert vector.dtype == np.float32
    assert 0.7 < float(np.linalg.norm(vector)) < 1.3


def test_texts_are_the_more_alike_the_more_words_they_share() -> None:
    def cosine(a: str, b: str) -> float:
        one, two = (invented.vector(text, 0.4, 384) for text in (a, b))
        return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))

    dog = "the brown dog sleeps"
    assert cosine(dog, dog) == pytest.approx(1.0)
    assert cosine(dog, "the brown dog barks") > cosine(dog, "a red dog barks") > cosine(dog, "no word here")


@pytest.mark.parametrize("floor", [0.34, 0.75, 0.9])
def test_texts_that_share_no_word_still_clear_the_studys_floor_about(floor: float) -> None:
    one, two = (invented.vector(text, floor, 384) for text in ("brown dog", "no such word"))
    assert float(one @ two / np.linalg.norm(one) / np.linalg.norm(two)) == pytest.approx(floor, abs=0.08)


def test_a_prompt_comes_to_at_most_what_a_budget_holds_for_it_and_at_least_its_messages() -> None:
    asked = extraction.request("user", "I live in Lisbon.", "role_aware")
    payload = OpenAIProvider("no key").payload(asked, ChatSettings("gpt-4o-mini"))
    span = chat_prompt("openai", "gpt-4o-mini", payload)
    assert span.high == prompt_bound("openai", "gpt-4o-mini", payload)
    assert 0.5 * span.high < span.low < span.high
    elsewhere = chat_prompt("ollama", "qwen2.5:7b", payload)
    assert elsewhere.low < span.low < elsewhere.high
    assert Call("openai", "gpt-4o-mini", payload).id


def test_a_cap_cuts_the_size_of_a_reply() -> None:
    asked = extraction.request("user", "I live in Lisbon.", "role_aware")
    assert invented.reply_tokens(asked, 30, None) == Span(40, 360)
    assert invented.reply_tokens(asked, 30, 100) == Span(40, 100)
