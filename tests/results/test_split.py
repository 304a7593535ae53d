from collections import Counter
from pathlib import Path

import pytest

from results.split import side
from tasks.benchmarks import load

DATA = Path(__file__).parents[2].parent / "shared" / "data"


def data(name: str) -> Path:
    path = DATA / name
    if not path.exists():
        pytest.skip(f"{path} is not there: the development data are no part of the project")
    return path


def test_a_fifth_of_every_question_type_is_for_development() -> None:
    asked = load("longmemeval-oracle", data("longmemeval_oracle.json.gz")).questions
    kinds = Counter(question.type for question in asked)
    developed = Counter(
        question.type
        for question in asked
        if side("longmemeval-oracle", question.id, question.history, question.type) == "development"
    )
    assert developed == {kind: round(count / 5) for kind, count in kinds.items()}


def test_a_question_is_on_the_same_side_in_every_part_of_longmemeval() -> None:
    ids = [f"q{number}" for number in range(200)]
    of = {
        benchmark: [side(benchmark, name, name, "multi-session") for name in ids]
        for benchmark in ("longmemeval-oracle", "longmemeval-s", "lme-ku")
    }
    assert of["longmemeval-oracle"] == of["longmemeval-s"] == of["lme-ku"]
    assert set(of["longmemeval-s"]) == {"development", "rest"}


@pytest.mark.parametrize(
    ("conversation", "expected"),
    [("conv-26", "apart"), ("conv-30", "development"), ("conv-41", "development"), ("conv-42", "development"),
     ("conv-43", "rest"), ("conv-50", "rest")],
)  # fmt: skip
def test_locomo_is_split_by_conversation(conversation: str, expected: str) -> None:
    assert side("locomo", f"{conversation}-7", conversation, "temporal") == expected
    assert side("amb-text", f"{conversation}-7", conversation, "temporal") == expected


def test_a_benchmark_on_which_nothing_is_tuned_is_all_rest() -> None:
    assert {side("beam-100k", name, "conv-30", "temporal") for name in "abcdefgh"} == {"rest"}
