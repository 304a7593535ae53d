"""Facts filtered without a language model: by a word that subject or object share with the question."""

from __future__ import annotations

from memory.prompts import fact_filter
from tasks.models.offline.chat import OfflineChat

FACTS = (
    ("ilse", "teaches at", "lakeside school"),
    ("bob", "schools", "dogs"),
    ("lugano", "is", "a town"),
)


def kept(question: str) -> list[str]:
    asked = fact_filter.request(question, FACTS)
    return fact_filter.read(OfflineChat("noun-phrases").complete(asked.task, asked.inputs))


def test_a_fact_is_kept_whose_subject_or_object_the_question_names() -> None:
    assert kept("Where does Ilse work?") == ["f1"]
    assert kept("Which schools are near towns?") == ["f1", "f3"]


def test_no_fact_is_kept_for_a_relation_or_a_function_word_alone() -> None:
    assert kept("Who teaches?") == []
    assert kept("Is it at a?") == []
