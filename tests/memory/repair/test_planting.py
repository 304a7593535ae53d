"""Planted faults and harmful edits, with grafters that do right, nothing or harm."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from memory.conversation import Question
from memory.gaama.graph import episode_id
from memory.models import ChatRequest
from memory.repair.harm import HARMS, Material, harmful, other_speaker, speakers_of, wrong_value
from memory.repair.planting import TRUE, Planted, plant_and_repair
from tests.memory.repair.fakes import GraftChat, Memory, fact, plan

TOWNS = {"rows": "Lucerne", "swims": "Geneva", "climbs": "Zermatt"}
SPORTS = tuple(TOWNS)


def asked(sport: str) -> Question:
    return Question(sport, "h", "single-hop", f"Where is it that Ilse {sport}?", "", evidence=(said(sport),))


def said(sport: str) -> str:
    return f"[1:00 pm on 3 May, 2021] Ilse: I know where one {sport}, Bob."


def known(sport: str) -> str:
    return f"Ilse {sport} near {TOWNS[sport]}."


def remembered() -> Memory:
    """A memory in which each question brings up its fact, and its episode with it."""
    memory = Memory()
    for sport in SPORTS:
        question = asked(sport).text
        source = memory.add("episode", said(sport), 0.5, question)
        stored = memory.add("fact", known(sport), 0.6, question)
        memory.graph.join("DERIVED_FROM", stored, source)
        memory.graph.join("ABOUT_CONCEPT", stored, memory.add("concept", f"{sport}_near_water"))
        memory.embedder.place(f"Ilse {sport} in Lucerne.", question, 0.6)
    memory.add("episode", "[2:00 pm on 3 May, 2021] Bob: Fine!")
    return memory


def sport_of(request: ChatRequest) -> str:
    return next(sport for sport in SPORTS if sport in request.inputs["question"])


def mends(request: ChatRequest) -> dict[str, Any]:
    """A plan that writes the missing fact down again, in other words."""
    sport = sport_of(request)
    return plan(fact(f"Ilse {sport} in Lucerne.", said(sport)))


def needs_a_fact(request: ChatRequest) -> dict[str, Any]:
    """A diagnosis by whether the fact of the question's sport is shown."""
    shown = any(
        kind == "fact" and sport_of(request) in text for _, kind, text in json.loads(request.inputs["memory"])
    )
    return {"completeness": float(shown)}


def planted(
    plan: Callable[[ChatRequest], Any], k: int = 1, memory: Memory | None = None, **replies: Any
) -> Planted:
    probes = {"analysis_questions": ["What did Ilse say?"]}
    chat = GraftChat(diagnose=needs_a_fact, probe=probes, plan=plan, **replies)
    graft = (memory or remembered()).graft(chat, recalled_facts=1)
    return plant_and_repair(graft, [asked(sport) for sport in SPORTS], k, seed=1)


def test_a_fact_that_was_taken_out_and_is_written_down_again_is_repaired() -> None:
    found = planted(mends, k=2)
    assert found.candidates == 3
    assert [(fault.facts, fault.state, fault.repaired) for fault in found.faults] == [
        (1, "repaired", True)
    ] * 2
    changes = {
        id: (recalled.before, recalled.damaged, recalled.after) for id, recalled in found.recalled.items()
    }
    broken = {fault.question for fault in found.faults}
    assert changes == {sport: (1, 0, 1) if sport in broken else (1, 1, 1) for sport in SPORTS}
    assert [repair.executed for repair in found.repairs] == [int(sport in broken) for sport in SPORTS]


def test_a_grafter_that_plans_nothing_repairs_nothing() -> None:
    found = planted(lambda request: plan())
    assert [(fault.state, fault.repaired) for fault in found.faults] == [("no_plan", False)]
    assert [recalled.after for recalled in found.recalled.values()].count(0) == 1


def test_a_fact_on_another_turn_does_not_repair_the_fault() -> None:
    def astray(request: ChatRequest) -> Any:
        other = SPORTS[SPORTS.index(sport_of(request)) - 1]
        return plan(fact(f"Ilse {sport_of(request)} in Lucerne.", said(other)))

    assert not planted(astray).faults[0].repaired


def test_without_an_edit_the_damaged_memory_recalls_the_same_again() -> None:
    found = planted(mends, k=3)
    assert all(recalled.again == recalled.damaged for recalled in found.recalled.values())


def test_more_faults_than_there_are_candidates_are_as_many_as_there_are() -> None:
    assert len(planted(mends, k=99).faults) == 3


def test_the_same_seed_plants_the_same() -> None:
    assert planted(mends) == planted(mends)


def test_edges_are_parted_and_a_concept_joins_them_again() -> None:
    def joins(request: ChatRequest) -> Any:
        shown = json.loads(request.inputs["found"])[0][1]
        lone = [id for id, kind, _, _ in shown if kind == "fact"]
        params = {"concept_label": "lake_sports", "connected_node_ids": lone}
        return plan({"op_type": "CREATE_CONCEPT", "params": params})

    found = _edges(joins)
    assert [fault.repaired for fault in found.faults] == [True] * 3
    assert found.offered == ()
    assert not any(fault.repaired for fault in _edges(lambda request: plan()).faults)


def _edges(planning: Callable[[ChatRequest], Any]) -> Planted:
    chat = GraftChat(probe=lambda request: {"analysis_questions": [known(sport_of(request))]}, plan=planning)
    graft = remembered().graft(chat, recalled_facts=1)
    return plant_and_repair(graft, [asked(sport) for sport in SPORTS], 3, seed=0, what="edges")


def test_a_gate_that_passes_all_leaves_the_execution_to_keep_out_absence_and_duplicates() -> None:
    fates = {each.harm: each.outcome.fate for each in planted(mends).offered}
    kept_out = {harm for harm, fate in fates.items() if fate != "executed"}
    assert set(fates) == {TRUE, *HARMS}
    assert kept_out == {"absence", "duplicate"}


def test_a_gate_that_passes_nothing_accepts_no_true_fact_and_is_offered_no_harm() -> None:
    found = planted(mends, verify={"passed_indices": []})
    assert [(each.harm, each.outcome.fate) for each in found.offered] == [(TRUE, "refused")]


def test_what_gets_in_when_it_is_offered_is_taken_out_again() -> None:
    memory = remembered()
    planted(lambda request: plan(), memory=memory)
    assert len(memory.texts("fact")) == 2


@pytest.mark.parametrize(
    ("fact", "word", "harmed"),
    [
        ("Ilse owns 3 boats since 2019.", "trees", "Ilse owns 3 boats since 2020."),
        ("Ilse rows near Lucerne.", "Geneva", "Ilse rows near Geneva."),
        ("Ilse rows near Lucerne.", "lucerne", None),
        ("Ilse rows near Lucerne.", None, None),
        ("is it so", "Geneva", None),
    ],
)
def test_a_wrong_value_is_the_next_number_or_another_word(
    fact: str, word: str | None, harmed: str | None
) -> None:
    assert wrong_value(fact, word) == harmed


def test_a_fact_is_laid_to_the_other_speaker() -> None:
    assert (
        other_speaker("Ilse rows, and Ilse's boat is old.", ("Bob", "Ilse"))
        == "Bob rows, and Bob's boat is old."
    )
    assert other_speaker("She rows.", ("Bob", "Ilse")) is None
    assert other_speaker("Ilse rows.", ("Ilse",)) is None
    assert speakers_of([said("rows"), "Bob: Fine!", said("swims"), "no speaker"]) == ("Ilse", "Bob")


def test_each_harm_is_made_of_its_material() -> None:
    material = Material(
        fact="Ilse rows near Lucerne.",
        sources=("e1",),
        known=("Bob climbs.", ("e2",)),
        strange="e3",
        speakers=("Ilse", "Bob"),
        word="Geneva",
    )
    made = {harm: (edit.text, edit.ids) for harm, edit in harmful(material)}
    assert made == {
        "wrong_value": ("Ilse rows near Geneva.", ("e1",)),
        "relative_time": ("Ilse rows near Lucerne last week.", ("e1",)),
        "absence": ("It is not mentioned whether Ilse rows near Lucerne.", ("e1",)),
        "other_speaker": ("Bob rows near Lucerne.", ("e1",)),
        "duplicate": ("Bob climbs.", ("e2",)),
        "unsupported": ("Ilse rows near Lucerne.", ("e3",)),
    }


def test_questions_without_evidence_are_passed_over() -> None:
    graft = remembered().graft(GraftChat(), recalled_facts=1)
    lost = Question("q", "h", "single-hop", "Who?", "")
    assert plant_and_repair(graft, [lost], 1, 0) == Planted(0, (), (), (), {})


def test_an_offered_fact_cites_the_episode_that_it_stood_on() -> None:
    [true] = [each for each in planted(mends).offered if each.harm == TRUE]
    assert true.outcome.ids == (episode_id(said(true.question)),)
