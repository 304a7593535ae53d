import gzip
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput
from tasks.models.offline.chat import VERSIONS, OfflineChat
from tasks.models.offline.judge import judge
from tasks.prompts import answer as answer_prompt
from tasks.prompts import judge as judge_prompt
from tasks.prompts.judge import read_verdict

DATA = Path(__file__).parents[3] / "../shared/data"


def verdict(question: str, reference: str, answer: str, **known: object) -> bool | None:
    correct = json.loads(judge(question, reference, answer, **known))["correct"]  # type: ignore[arg-type]
    assert correct is None or isinstance(correct, bool)
    return correct


@pytest.mark.parametrize(
    ("question", "reference", "answer", "correct"),
    [
        ("Where did I buy it?", "Harlow Cycles", "At Harlow Cycles.", True),
        ("Where did I buy it?", "Harlow Cycles", "At a flea market.", False),
        ("How many hives do I keep?", "3", "Three hives.", True),
        ("How many hives do I keep?", "3", "Four hives.", False),
        ("How much was it?", "$1,300", "1300 dollars", True),
        ("How often did the owls play the larks?", "The owls played the larks 12 times.", "12 times", True),
        ("How many days passed?", "6 days. 7 days (including the last day) is also acceptable.", "7", True),
        (
            "How many days passed?",
            "6 days. 7 days (including the last day) is also acceptable.",
            "8 days",
            False,
        ),
        ("Do I still row?", "Yes, twice a week", "No, never twice a week", False),
        ("Where is it?", "In the green cupboard", "I don’t know", False),
        ("What is my dog called?", "The information provided is not enough.", "Not mentioned.", True),
        ("What is my dog called?", "You did not mention this information.", "Bosun", False),
        ("What was the order?", "First the fair, then the concert", "1. The concert 2. The fair", False),
        ("Any tips?", "The user would prefer suggestions on beekeeping.", "Try white clover.", None),
    ],
)
def test_worked_examples(question: str, reference: str, answer: str, correct: bool | None) -> None:
    assert verdict(question, reference, answer) is correct


def test_a_count_of_days_may_be_off_by_one_only_where_the_type_is_known_to_be_temporal() -> None:
    asked = ("How many weeks ago was it?", "5 weeks", "4 weeks")
    assert verdict(*asked) is False
    assert verdict(*asked, question_type="temporal-reasoning") is True


def test_a_known_abstention_is_right_if_the_answer_declines_whatever_the_reference_says() -> None:
    assert verdict("What is it?", "Only a cat was talked about.", "I don't know", abstention=True) is True
    assert verdict("What is it?", "Only a cat was talked about.", "A cat.", abstention=True) is False


def test_what_the_judge_cannot_tell_is_unparsed_and_not_false() -> None:
    reply = judge("Any tips?", "The user would prefer suggestions on beekeeping.", "Try clover.")
    with pytest.raises(ValueError):
        read_verdict(reply)


@given(st.text(max_size=80), st.text(max_size=80), st.text(max_size=80))
def test_any_three_texts_get_one_of_three_verdicts(question: str, reference: str, answer: str) -> None:
    verdict(question, reference, answer)


def _kappa(ours: list[bool], theirs: list[bool]) -> float:
    """Cohen's kappa."""
    agreed = sum(a == b for a, b in zip(ours, theirs, strict=True)) / len(ours)
    mine, other = sum(ours) / len(ours), sum(theirs) / len(theirs)
    chance = mine * other + (1 - mine) * (1 - other)
    return (agreed - chance) / (1 - chance)


@pytest.mark.skipif(
    not (DATA / "published_results/exp1_graph.jsonl").is_file(), reason="../shared/data is not there"
)
def test_it_agrees_with_the_published_verdicts_that_it_was_not_tuned_on_better_than_an_f1_rule() -> None:
    questions = {
        row["question_id"]: row["question"]
        for row in json.loads(gzip.decompress((DATA / "longmemeval_oracle.json.gz").read_bytes()))
    }
    ours, rule, theirs, asked = [], [], [], 0
    for arm in ("graph", "baseline"):
        lines = (DATA / f"published_results/exp1_{arm}.jsonl").read_text().splitlines()
        rows = [row for row in map(json.loads, lines) if row["predicted"] is not None]
        for row in rows[1::2]:
            asked += 1
            said = verdict(questions[row["question_id"]], str(row["ground_truth"]), row["predicted"])
            if said is not None:
                ours.append(said)
                rule.append(row["f1"] >= 0.65)
                theirs.append(bool(row["judge_correct"]))
    assert asked == 500
    assert len(ours) > 0.9 * asked
    assert _kappa(ours, theirs) > 0.88
    assert _kappa(rule, theirs) < 0.76


def test_every_offline_model_does_its_tasks_from_a_prompts_inputs_and_no_other() -> None:
    asked = answer_prompt.request("Where?", "I live in Graz.", profile="published", question_date=None)
    assert OfflineChat("extractive").complete(asked.task, asked.inputs) == "Graz"
    judged = judge_prompt.request("per_type", "Where?", "Graz", "Graz", question_type="x", abstention=False)
    assert read_verdict(OfflineChat("lexical").complete(judged.task, judged.inputs)).correct
    assert OfflineChat("noun-phrases").complete("query_entities", {"question": "Where is Graz?"})
    assert OfflineChat("noun-phrases").complete("extract", {"role": "user", "text": "I live in Graz."})
    for name in VERSIONS:
        with pytest.raises(ValueError, match="does not do the task"):
            OfflineChat(name).complete("translate", {})


def test_an_unknown_offline_model_is_named_with_those_that_exist() -> None:
    with pytest.raises(BadInput, match="noun-phrases, locomo-observations, extractive, lexical"):
        OfflineChat("oracle")
