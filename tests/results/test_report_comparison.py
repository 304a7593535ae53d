from __future__ import annotations

import re
from pathlib import Path

import pytest

from memory.errors import BadInput
from results.report.comparison import write_comparison
from results.report.run_report import Money
from results.report.sides import conditions_opposite, sides
from tests.results.test_report import blocks, words
from tests.results.written_run import QUESTIONS_ASKED, TURNS_SAID, Asked, write_run


@pytest.fixture
def run(tmp_path: Path) -> Path:
    return write_run(tmp_path / "run", TURNS_SAID, QUESTIONS_ASKED)


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """A run of the same data whose graph answers as `flat` does, on two of the questions."""
    asked = [
        Asked(q.id, q.type, q.text, q.reference, q.evidence, {"graph": q.rows["flat"]})
        for q in QUESTIONS_ASKED
    ]
    return write_run(tmp_path / "other", TURNS_SAID, asked[:2])


def compared(a: str, b: str, out: Path, *, different_data: bool = False) -> Path:
    left, right = sides(a, b, different_data=different_data)
    return write_comparison(left, right, out, (Money(), Money()), {}, resamples=200, seed=0)


def test_two_conditions_of_one_run_are_paired_by_question(run: Path, tmp_path: Path) -> None:
    page = compared(f"{run}:flat", f"{run}:graph", tmp_path / "out.html")
    assert blocks(page)["index"]["columns"] == ["A: flat", "B: graph"]
    text = words(page)
    assert "3 paired questions" in text
    # f1: (1 + 0 + .75) / 3 against (.25 + 1 + .75) / 3; judge: right, wrong against wrong, right
    assert "flat − graph F1 3 0.583 0.667 -0.083" in text
    assert "flat − graph Judged correct 2 0.500 0.500 +0.000" in text
    # recall@5: 1, 0, .5 against 0, 1, 1
    assert "flat − graph Evidence turns, recall@5 3 0.500 0.667 -0.167" in text


def test_two_runs_are_compared_in_the_conditions_that_both_have(
    run: Path, other: Path, tmp_path: Path
) -> None:
    page = compared(str(run), str(other), tmp_path / "out.html")
    found = blocks(page)["index"]
    assert found["columns"] == ["A: graph", "B: graph"]
    assert [row and row["answer"] for row in found["questions"][0]["rows"]] == ["on the roof", "in the shed"]
    assert found["questions"][2]["rows"][1] is None
    assert "2 paired questions" in words(page)


def test_the_turns_of_runs_on_the_same_data_are_stored_once(run: Path, other: Path, tmp_path: Path) -> None:
    turns = blocks(compared(str(run), str(other), tmp_path / "out.html"))["turns-0"]
    assert len({turn["id"] for turn in turns}) == len(turns)


def test_runs_on_different_data_are_refused_unless_they_are_meant(run: Path, tmp_path: Path) -> None:
    asked = [Asked("q1", "single", "Another?", "x", ["t1"], {"flat": ("x", 1.0, 1.0, ["t1"])})]
    far = write_run(tmp_path / "far", {"t1": "another text"}, asked, sha256="cd" * 32)
    with pytest.raises(BadInput, match=r"results on different data .*--different-data"):
        compared(f"{run}:flat", f"{far}:flat", tmp_path / "out.html")
    page = compared(f"{run}:flat", f"{far}:flat", tmp_path / "out.html", different_data=True)
    assert "A and B are on different data" in words(page)
    texts = {turn["text"] for turn in blocks(page)["turns-0"] if turn["id"] == "t1"}
    assert texts == {"turn number 1 says a thing", "another text"}


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (":flat", ":tree", "has no condition 'tree'; it holds: flat, graph"),
        ("", "", "both sides are .*: name two of its conditions"),
        (":flat", ":flat", "both sides are .*: name two of its conditions"),
        ("/turns.parquet", ":flat", "a report compares run folders"),
    ],
)
def test_sides_that_cannot_stand_opposite_each_other_are_refused(
    run: Path, a: str, b: str, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        conditions_opposite(*sides(f"{run}{a}", f"{run}{b}", different_data=False))


def test_runs_without_a_condition_of_one_name_are_told_to_name_one_of_each(run: Path, tmp_path: Path) -> None:
    asked = [Asked("q1", "single", "?", "x", ["t1"], {"tree": ("x", 1.0, 1.0, ["t1"])})]
    lone = write_run(tmp_path / "lone", TURNS_SAID, asked)
    with pytest.raises(BadInput, match=re.escape("no condition of one name (flat, graph; tree)")):
        conditions_opposite(*sides(str(run), str(lone), different_data=False))
    assert conditions_opposite(*sides(f"{run}:flat", f"{lone}:tree", different_data=False)) == [
        ("flat", "tree")
    ]
