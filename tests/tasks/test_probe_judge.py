from dataclasses import fields, replace
from pathlib import Path

import pytest

from memory.errors import BadInput
from tasks import probe_judge
from tasks.models.offline.judge import RIGHT
from tasks.probe_judge import ARMS, Case, by_f1, by_words, cases, chosen, halves, probe

DATA = Path(__file__).parents[2] / "../shared/data"
needs_published = pytest.mark.skipif(
    not (DATA / "published_results/exp1_graph.jsonl").is_file(),
    reason="../shared/data/published_results is not there",
)

CASE = Case("q1", "multi-session", "Where did I buy it?", "Harlow Cycles", "At Harlow Cycles.", right=True)
RUBRIC = replace(CASE, reference="The user would prefer suggestions on beekeeping.", answer="Try clover.")


def published(count: int = 40) -> list[Case]:
    """Two cases a question, of two types."""
    kinds = ("multi-session", "temporal-reasoning")
    return [replace(CASE, question=f"q{n}", type=kinds[n % 4 == 0]) for n in range(count) for _ in range(2)]


def test_the_halves_share_no_question_and_hold_half_of_each_type() -> None:
    first, second = halves(published())
    assert not {c.question for c in first} & {c.question for c in second}
    assert sorted(c.question for c in (*first, *second)) == sorted(c.question for c in published())
    for half in (first, second):
        assert sum(c.type == "temporal-reasoning" for c in half) == 10
        assert sum(c.type == "multi-session" for c in half) == 30


def test_the_halves_are_a_matter_of_the_seed_and_not_of_the_order() -> None:
    first = {c.question for c in halves(published(), 3)[0]}
    assert first == {c.question for c in halves(published()[::-1], 3)[0]}
    assert first != {c.question for c in halves(published(), 4)[0]}


def test_a_rubric_is_judged_by_neither_rater() -> None:
    assert by_words(RUBRIC, RIGHT) is None
    assert by_f1(RUBRIC, 0.5) is None


def test_the_plain_rule_compares_f1_with_its_threshold() -> None:
    # Two of the answer's three tokens are the reference's two: F1 is 2 x 2 / (3 + 2).
    assert by_f1(CASE, 0.8) is True
    assert by_f1(CASE, 0.85) is False


def test_of_equally_good_thresholds_the_middle_one_is_chosen() -> None:
    wrong = replace(CASE, answer="At a flea market with Harlow", right=False)  # half of the reference's words
    # From 0.55 to 1.00 both are judged as published: ten thresholds, of which the sixth is chosen.
    assert chosen(by_words, [CASE, wrong]) == 0.8


def test_files_that_are_not_there_are_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="longmemeval_oracle"):
        cases(tmp_path)


@needs_published
def test_the_thousand_published_answers_do_not_say_which_arm_gave_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = cases(DATA)
    assert (len(found), len({case.question for case in found})) == (1000, 500)
    assert [field.name for field in fields(Case)] == [
        *("question", "type", "text", "reference", "answer", "right")
    ]
    monkeypatch.setattr(probe_judge, "ARMS", ARMS[::-1])
    assert cases(DATA) == found[500:] + found[:500]


def test_a_rater_does_not_see_the_published_verdict() -> None:
    for rater in (by_words, by_f1):
        assert rater(CASE, RIGHT) == rater(replace(CASE, right=False), RIGHT)


@needs_published
def test_on_questions_that_chose_nothing_the_judge_agrees_far_beyond_the_plain_rule() -> None:
    (table,) = probe(DATA)
    overall = table.data[table.data["type"] == "all"].set_index("rater")
    judge, rule = overall.loc["lexical judge"], overall.loc["F1 rule"]
    assert judge["threshold"] == RIGHT, "the judge's setting is the one that its half chooses"
    assert (judge["n"], judge["not_judged"]) == (rule["n"], rule["not_judged"]) == (472, 30)
    assert round(judge["agreement"], 3) == 0.930
    assert round(judge["kappa"], 3) == 0.860
    assert round(rule["kappa"], 3) == 0.717
    assert judge["kappa_low"] > rule["kappa_high"]
    rubrics = table.data[table.data["type"] == "single-session-preference"]
    assert list(rubrics["n"]) == [0, 0]
