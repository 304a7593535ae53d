import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput
from tasks.models.offline.chat import VERSIONS, OfflineChat
from tasks.models.offline.judge import judge
from tasks.prompts import answer as answer_prompt
from tasks.prompts import judge as judge_prompt
from tasks.prompts.judge import read_verdict


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
        ("How many days passed?", "11 days (or 12 days, if the last one counts)", "11 days.", True),
        ("How long have I rowed?", "4 years and 9 months", "About 4 years and 3 months", False),
        ("When does it open?", "9:00 AM", "At 9 AM", True),
        ("Any tips?", "The user would prefer suggestions on beekeeping.", "Try white clover.", None),
        ("Any tips?", "The user would prefer tips on bees. They might not mention wasps.", "Clover.", None),
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
    with pytest.raises(
        BadInput,
        match="noun-phrases, every-noun-phrase, locomo-observations, frames, extractive, chain, lexical",
    ):
        OfflineChat("oracle")
