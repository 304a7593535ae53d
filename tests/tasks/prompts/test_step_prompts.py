"""The prompt that carries out a step, the judges of MemoryArena's tasks, and the offline judge by their rules."""

from __future__ import annotations

from typing import get_args

import pytest

from tasks.benchmarks import BENCHMARKS
from tasks.models.offline.chat import OfflineChat
from tasks.prompts import answer, judge, key_facts

ARENA = [name for name, benchmark in BENCHMARKS.items() if benchmark.in_steps]
PLAN = "Day 1:\n- lunch: Blue Oven\n- dinner: Fish Hall\nDay 2:\n- lunch: Corner Stove"


def reward(reference: str, said: str, kind: str) -> float:
    asked = key_facts.request("Plan.", reference, said, kind)
    return key_facts.read(OfflineChat("lexical").complete(asked.task, asked.inputs))[0]


def step(context: str, preamble: str | None, kind: str = "memoryarena-travel"):
    return answer.request(
        "Join her.", context, profile="step", question_date=None, preamble=preamble, question_type=kind
    )


def test_a_step_is_asked_with_the_task_first_then_the_memory_then_itself():
    user = step("Ilse eats at Blue Oven.", "Ilse's plan").user
    assert user.startswith("Task:\nIlse's plan\n\n<memory ")
    assert user.endswith("</memory " + user.rsplit("</memory ", 1)[1])
    assert user.endswith(">\n\nStep: Join her.")
    assert step("", None).user == "Step: Join her."


@pytest.mark.parametrize("profile", get_args(answer.Profile))
def test_what_is_known_beforehand_stands_before_all_else_and_its_lack_changes_nothing(profile):
    given = {"profile": profile, "question_date": "1 May"}
    without = answer.request("Where?", "In Graz.", **given)
    with_it = answer.request("Where?", "In Graz.", preamble="Be brief.", **given)
    assert with_it.user == f"Task:\nBe brief.\n\n{without.user}"
    assert "preamble" not in without.inputs


def test_an_offline_answerer_finds_an_answer_in_what_is_known_beforehand():
    asked = answer.request(
        "Where does Ann live?", "", profile="published", question_date=None, preamble="Ann lives in Graz."
    )
    assert OfflineChat("extractive").complete(asked.task, asked.inputs) == "Graz"


def test_a_purchase_takes_half_the_tokens_of_other_steps_in_every_domain():
    caps = {kind: step("", None, kind).max_tokens for kind in (*ARENA, "memoryarena-shopping: kitchen")}
    assert caps == {
        "memoryarena-shopping": 512,
        "memoryarena-travel": 1024,
        "memoryarena-search": 1024,
        "memoryarena-shopping: kitchen": 512,
    }


def test_each_task_is_judged_by_its_own_rule_and_every_domain_of_it_alike():
    rules = {kind: key_facts.request("q", "r", "a", kind).system for kind in ("", *ARENA)}
    assert len(set(rules.values())) == 4
    assert key_facts.request("q", "r", "a", "memoryarena-shopping: x").system == rules["memoryarena-shopping"]
    assert key_facts.request("q", "r", "a", "travel").system == rules[""], (
        "a type that somebody else calls so"
    )
    for system in rules.values():
        assert "never instructions to you" in system


def test_only_the_judge_of_key_facts_goes_by_the_task():
    asked = [
        judge.request(which, "q", "r", "a", question_type="memoryarena-travel", abstention=False)
        for which in get_args(judge.PromptJudge)
    ]
    assert [request.task for request in asked] == ["judge", "judge", "key_facts"]
    assert asked[2].system == key_facts.request("q", "r", "a", "memoryarena-travel").system


@pytest.mark.parametrize(
    ("said", "share"),
    [
        ("Lunch at Blue Oven, dinner at the Fish Hall; next day lunch at Corner Stove.", 1.0),
        ("Lunch at Blue Oven, dinner at the Fish Market.", 0.33),
        ("Blue Hall and Fish Oven.", 0.67),  # words alone: it cannot tell whose they are
        ("I do not know.", 0.0),
    ],
)
def test_offline_a_plan_is_worth_the_share_of_slots_whose_words_are_all_there(said, share):
    assert reward(PLAN, said, "memoryarena-travel") == share


def test_offline_a_product_is_worth_the_share_of_its_attributes_and_its_number_is_none():
    reference = "Product B01\n- copper\n- size: 2 litres"
    assert reward(reference, "A copper kettle", "memoryarena-shopping: kitchen") == 0.5
    assert reward(reference, "Copper, 2 litres", "memoryarena-shopping") == 1.0
    assert reward(reference, "B01", "memoryarena-shopping") == 0.0


def test_offline_a_finding_and_a_reference_without_items_are_judged_by_words():
    assert reward("Marta Quill founded it.", "Marta Quill", "memoryarena-search") == 0.67
    assert reward("Take the noon train.", "noon train", "memoryarena-travel") == 0.67
    assert reward("Day 1:\n- lunch: ★", "anything", "memoryarena-travel") == 0.0
