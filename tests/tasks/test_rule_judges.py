"""Judges that ask no model, in a whole small run on facts that replace one another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.conversation import Question
from tasks.judge import prompt_hash
from tasks.kinds import make_study
from tasks.prompts.judge import RuleJudge
from tasks.rules import RULES
from tests.flows.study_in_loop import conditions, run_in_loop

CONTEXT = """Here is a list of facts:
0. The capital of Norland is Ostrel.
1. Ilse Varn plays the position of goalkeeper.
2. The capital of Norland is Graumund.
"""
ROW = {
    "context": CONTEXT,
    "questions": ["What is the capital of Norland?", "Which position does Ilse Varn play?"],
    "answers": [["Graumund"], ["keeper", "goalkeeper"]],
    "metadata": {"source": "factconsolidation_mh_6k"},
}


def test_facts_are_judged_by_the_rule_and_no_judge_is_asked(tmp_path: Path) -> None:
    file = tmp_path / "facts.json"
    file.write_text(json.dumps([ROW]))
    run = run_in_loop(tmp_path, benchmark="mab-fc", data=file, conditions=conditions("bm25"), resamples=100)
    verdicts = run.table("verdicts")
    assert list(verdicts["judge"]) == ["substring", "substring"]
    assert list(verdicts["status"]) == ["judged", "judged"]
    assert verdicts["why"].str.startswith("rule substring").all()
    assert verdicts["call"].isna().all()
    accepted = list(run.table("questions")["accepted"][1])
    assert accepted == ["keeper", "goalkeeper"]


def test_any_accepted_answer_is_right() -> None:
    question = Question("q", "h", "t", "Which?", "keeper", accepted=("keeper", "wicket-keeper of the team"))
    verdict = RULES["substring"](question, "the team")
    assert (verdict.correct, verdict.why) == (
        True,
        "rule substring: agrees with 'wicket-keeper of the team'",
    )


@pytest.mark.parametrize(
    ("answer", "correct"), [("(b)", True), ("Milk.", True), ("a", False), ("Both", False)]
)
def test_the_right_option_by_letter_or_text_is_right(answer: str, correct: bool) -> None:
    question = Question("q", "h", "t", "What to drink?", "(b) Milk.", options=("(a) Tea.", "(b) Milk."))
    assert RULES["choice"](question, answer).correct is correct


@pytest.mark.parametrize(
    ("contains", "answer", "why"),
    [
        (("Runa", "oilskins"), "RUNA's oilskins.", "rule strings: has every expected string"),
        (("Runa", "oilskins"), "Runa's boots.", "rule strings: lacks 'oilskins'"),
        ((), "Runa lends oilskins.", "rule strings: lacks 'Runa, oilskins'"),
    ],
)
def test_every_string_has_to_be_said_or_else_the_reference_as_it_stands(
    contains: tuple[str, ...], answer: str, why: str
) -> None:
    question = Question("q", "h", "t", "Who lends what?", "Runa, oilskins", contains=contains)
    verdict = RULES["strings"](question, answer)
    assert (verdict.correct, verdict.why) == ("lacks" not in why, why)


@pytest.mark.parametrize("judge", RULES)
def test_a_rule_is_known_by_its_version_whatever_the_types(judge: RuleJudge) -> None:
    assert prompt_hash(judge, ("a",)) == prompt_hash(judge, ("a", "b"))


@pytest.mark.parametrize(
    ("benchmark", "judge"),
    [
        ("mab-fc-sh-64k", "substring"),
        ("personamem-32k-rd", "choice"),
        ("beam-100k", "per_type"),
        ("memoryarena-search", "key_facts"),
        ("amb-text", "paper"),
        ("lme-ku", "paper"),
    ],
)
def test_a_study_judges_as_its_benchmark_does_unless_it_says_otherwise(benchmark: str, judge: str) -> None:
    assert make_study({"benchmark": benchmark}).judge == judge
    assert make_study({"benchmark": benchmark, "judge": "per_type"}).judge == "per_type"
