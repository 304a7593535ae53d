"""The offline grafter: what it misses, what it copies, and what its gate keeps out."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.prompts import graft, graft_replies
from memory.prompts.graft_replies import Edit
from memory.repair.protocol import Shown, ShownEdge
from tasks.models.offline.chat import OfflineChat

QUESTION = "Which boat has Ilse bought?"
EPISODE = Shown(
    "e1",
    "episode",
    "[1:56 pm on 8 May, 2023] Ilse: Hi Bob! I bought a wooden boat yesterday. Do you like it?",
    0.8,
)
OTHER = Shown(
    "e2",
    "episode",
    "[9:00 am on 9 May, 2023] Bob: I don't own 3 boats, Ilse, only a kayak with 2 seats.",
    0.4,
)
FACT = Shown("f1", "fact", "Ilse lives in Lucerne.", 0.5)

chat = OfflineChat("locomo-observations")


def complete(request: Any) -> str:
    return chat.complete(request.task, request.inputs)


def completeness(*items: Shown, answer: str = "A canoe", question: str = QUESTION) -> float:
    return graft_replies.read_diagnosis(complete(graft.diagnose(question, answer, items)))


def planned(*items: Shown, edges: tuple[ShownEdge, ...] = (), concepts: tuple[Shown, ...] = ()) -> list[Edit]:
    return graft_replies.read_plan(
        complete(graft.plan(QUESTION, "", [("boat", items)], concepts, edges, None))
    )


def fault(edit: Edit, *items: Shown, question: str = QUESTION) -> str | None:
    found = graft_replies.read_verification(
        complete(graft.verify(question, "", items or (EPISODE, OTHER, FACT), [edit]))
    )
    assert found.passed is not None
    return None if 1 in found.passed else found.reasons[1]


def test_completeness_is_the_share_of_the_question_s_words_without_names_in_the_best_fact() -> None:
    assert completeness(EPISODE, FACT) == 0
    assert completeness(FACT, Shown("f2", "fact", "Bob bought a car.")) == 0.5
    assert completeness(Shown("f3", "fact", "Someone bought boats.")) == 1
    assert completeness(Shown("f3", "fact", "Someone bought boats."), answer="I don't know") == 0
    assert completeness(FACT, question="Ilse?") == 1


def test_probes_are_the_question_s_words_and_those_that_no_fact_has() -> None:
    bought = Shown("f2", "fact", "Ilse bought a car.")
    assert graft_replies.read_probes(complete(graft.probe(QUESTION, "", [bought], None))) == [
        "boat Ilse bought",
        "boat Ilse",
    ]


def test_a_sentence_that_no_fact_says_is_planned_with_its_speaker_and_its_date() -> None:
    [edit] = planned(EPISODE, FACT)
    assert edit == Edit("fact", "Ilse: I bought a wooden boat on 7 May 2023.", 0.8, ("e1",))
    assert planned(EPISODE, Shown("f2", "fact", "Ilse bought a wooden boat on 7 May 2023.")) == []


def test_what_a_plan_sees_cut_off_is_not_copied() -> None:
    long = Shown(
        "e1", "episode", EPISODE.text.removesuffix(" Do you like it?") + " And then" + " more" * 60, 0.8
    )
    assert [edit.text for edit in planned(long)] == ["Ilse: I bought a wooden boat on 7 May 2023."]
    cut = Shown("e1", "episode", "Ilse: " + "so " * 64 + "I bought a boat of wood.", 0.8)
    assert planned(cut) == []


def test_a_fact_that_no_edge_joins_is_planned_to_be_joined_to_the_concept_of_its_words() -> None:
    concepts = (Shown("c1", "concept", "wooden_boat"), Shown("c2", "concept", "life_in_lucerne"))
    [edit] = planned(FACT, concepts=concepts)
    assert edit == Edit("concept", "life_in_lucerne", ids=("f1",))
    assert planned(FACT, concepts=concepts, edges=(ShownEdge("f1", "ABOUT_CONCEPT", "c2"),)) == []
    assert planned(FACT, concepts=concepts[:1]) == []


@pytest.mark.parametrize(
    ("text", "ids", "expected"),
    [
        ("Ilse bought a wooden boat on 7 May 2023.", ("e1",), None),
        ("Ilse bought a wooden boat.", ("e1",), None),
        ("Ilse bought a wooden boat.", (), "it names no shown episode"),
        ("Ilse bought a wooden boat.", ("e9",), "it names no shown episode"),
        ("A wooden boat was bought.", ("e2",), "its words are not in its episodes"),
        ("Ilse bought a wooden boat yesterday.", ("e1",), "it has a relative time"),
        ("Ilse bought a wooden boat on 6 May 2023.", ("e1",), "a figure is not in its episodes"),
        ("Ilse bought 2 wooden boats.", ("e1",), "a figure is not in its episodes"),
        ("Ilse bought a wooden boat for Rita.", ("e1",), "a name is not in its episodes"),
        ("Bob bought a wooden boat.", ("e1",), "it is about another than who speaks"),
        ("Ilse never bought a wooden boat.", ("e1",), "it denies what its episodes do not"),
        ("Bob doesn't own 3 boats.", ("e2",), None),
        ("Ilse lives in Lucerne.", ("e1",), "a name is not in its episodes"),
        ("Bob owns a kayak.", ("e2",), "it has no word of the question"),
    ],
)
def test_the_gate_names_the_first_fault_of_a_fact(
    text: str, ids: tuple[str, ...], expected: str | None
) -> None:
    assert fault(Edit("fact", text, 1.0, ids)) == expected


def test_the_gate_keeps_out_what_a_shown_fact_says() -> None:
    known = Shown("f2", "fact", "Ilse has bought a wooden boat.")
    assert (
        fault(Edit("fact", "Ilse bought a wooden boat.", 1.0, ("e1",)), EPISODE, known)
        == "a fact says the same"
    )


def test_the_gate_passes_a_concept_that_all_it_joins_have_a_word_of() -> None:
    assert fault(Edit("concept", "wooden_boats", ids=("e1", "e2"))) is None
    assert fault(Edit("concept", "wooden_boats", ids=("e1", "f1"))) == "an item has none of its words"
    assert fault(Edit("concept", "wooden_boats", ids=("e9",))) == "it is about nothing that is shown"
    assert fault(Edit("concept", "of_the", ids=("e1",))) == "it is about nothing that is shown"


texts = st.text(max_size=40)
shown = st.builds(
    Shown, st.sampled_from(["e1", "e2"]), st.sampled_from(["episode", "fact"]), texts, st.floats(0, 1)
)


@given(texts, st.lists(shown, max_size=4), texts)
@settings(max_examples=60, deadline=None)
def test_any_texts_get_replies_that_are_understood(question: str, items: list[Shown], text: str) -> None:
    edits = [Edit("fact", text, 1.0, ("e1",)), Edit("concept", text, ids=("e2",))]
    assert 0 <= graft_replies.read_diagnosis(complete(graft.diagnose(question, text, items))) <= 1
    graft_replies.read_probes(complete(graft.probe(question, text, items, None)))
    graft_replies.read_plan(complete(graft.plan(question, text, [(text, items)], (), (), None)))
    verified = graft_replies.read_verification(complete(graft.verify(question, text, items, edits)))
    assert verified.passed is not None
    assert sorted([*verified.passed, *verified.reasons]) == [1, 2]


def test_replies_are_json_and_the_same_each_time() -> None:
    request = graft.plan(QUESTION, "", [("boat", (EPISODE, OTHER, FACT))], (), (), None)
    assert complete(request) == complete(request)
    assert json.loads(complete(request))["edit_ops"]
