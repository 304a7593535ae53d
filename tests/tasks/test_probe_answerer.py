from dataclasses import replace
from pathlib import Path

import pytest

from tasks.load import conversations_of
from tasks.probe_answerer import answered, best_overlap, contexts, probe

DATA = Path(__file__).parents[2] / "../shared/data"


def test_the_baseline_is_the_whole_sentence_with_most_of_the_questions_words() -> None:
    context = "I keep bees. My aunt keeps three hives in Graz. The hives are loud."
    assert best_overlap("How many hives does my aunt keep?", context) == "My aunt keeps three hives in Graz."


def test_of_equally_near_sentences_the_first_is_the_baseline_and_of_none_nothing() -> None:
    assert best_overlap("Which hives?", "Two hives are old. Three hives are new.") == "Two hives are old."
    assert best_overlap("Which hives?", "") == ""


def test_both_read_the_evidence_turns_alone_and_only_the_improved_profile_sees_their_dates() -> None:
    sample = conversations_of("sample", None, None, None, 0)
    texts = {turn.id: turn.text for history in sample.histories.values() for turn in history.turns}
    for place, context in contexts(sample, "published"):
        assert context.split("\n\n---\n\n") == [texts[name] for name in sample.questions[place].evidence]
    for _, context in contexts(sample, "improved"):
        assert all(shown.startswith("[20") for shown in context.split("\n\n---\n\n"))


def test_questions_without_an_answer_or_without_evidence_are_not_asked() -> None:
    sample = conversations_of("sample", None, None, None, 0)
    asked = [question for question in sample.questions if question.evidence and not question.abstention]
    assert len(answered(sample, "published")) == len(asked) < len(sample.questions)
    unknown = replace(sample, questions=tuple(replace(question, evidence=()) for question in asked))
    assert answered(unknown, "published") == []


def test_the_means_by_type_come_back_to_the_mean_over_all() -> None:
    (table,) = probe("sample", None)
    data = table.data[table.data["profile"] == "published"].set_index("type")
    by_type = data.drop("all")
    for mean in ("a", "b", "difference"):
        assert (by_type[mean] * by_type["n"]).sum() / by_type["n"].sum() == pytest.approx(
            data.loc["all", mean]
        )


@pytest.mark.skipif(
    not (DATA / "longmemeval_oracle.json.gz").is_file(),
    reason="../shared/data/longmemeval_oracle.json.gz is not there",
)
def test_on_longmemeval_evidence_it_more_than_doubles_the_best_sentences_f1() -> None:
    found = answered(conversations_of("longmemeval-oracle", DATA, None, None, 0), "improved")
    assert len(found) == 470
    ours = sum(each.answerer for each in found) / len(found)
    assert round(ours, 3) == 0.349
    assert ours > 2 * sum(each.baseline for each in found) / len(found)
