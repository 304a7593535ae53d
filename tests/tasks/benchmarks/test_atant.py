"""Stories in ATANT's shape: their days, their evidence, and both modes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from memory.conversation import Conversations
from memory.errors import BadInput
from results.content_match import missing
from tasks.benchmarks import load
from tasks.benchmarks.validate import validate
from tests.flows.study_in_loop import conditions, run_in_loop

STORY: dict[str, Any] = {
    "story_id": 7,
    "category": "Health",
    "batches": [
        {"time": "Wednesday 9:00 AM", "user_input": "Dr Imbri gave me  a splint.\n"},
        {"time": "Wednesday 12:30 PM", "user_input": "How many bones has a hand?"},
        {"time": "Wednesday 9:00 AM", "user_input": "A week later, IMBRI took it off."},
        {"time": "monday, 12 am", "user_input": "I play the cello again."},
    ],
    "questions": [
        {"question_id": "7_q1", "question": "Who treated me?", "expected_contains": ["imbri"]},
        {"question_id": "7_q2", "question": "What do I play?", "expected_contains": ["cello", "piano"]},
    ],
}


def changed(**fields: Any) -> dict[str, Any]:
    return {**STORY, **fields}


def written(folder: Path, content: object) -> Path:
    file = folder / "atant.json"
    file.write_text(json.dumps(content), encoding="utf-8")
    return file


def loaded(folder: Path, *stories: Mapping[str, Any], benchmark: str = "atant") -> Conversations:
    return load(benchmark, written(folder, {"stories": stories}))


def test_a_session_is_what_is_said_on_a_day_and_days_go_on_from_the_last(tmp_path: Path) -> None:
    (history,) = loaded(tmp_path, STORY).histories.values()
    assert [session.date for session in history.sessions] == [
        datetime(2024, 1, 3, 9, tzinfo=UTC),
        datetime(2024, 1, 10, 9, tzinfo=UTC),
        datetime(2024, 1, 15, 0, tzinfo=UTC),
    ]
    assert [len(session.turns) for session in history.sessions] == [2, 1, 1]
    first = history.turns[0]
    assert (first.id, first.role, first.text) == ("7#0.0", "user", "Dr Imbri gave me a splint.")


def test_evidence_is_every_turn_of_the_story_that_contains_one_of_the_strings(tmp_path: Path) -> None:
    treated, played = loaded(tmp_path, STORY).questions
    assert (treated.evidence, treated.evidence_sessions) == (("7#0.0", "7#1.0"), (0, 1))
    assert (treated.contains, treated.reference, treated.type) == (("imbri",), "imbri", "Health")
    assert (played.evidence, played.unresolved_evidence) == (("7#2.0",), ("piano",))
    assert played.reference == "cello, piano"


def test_in_cumulative_mode_all_stories_are_one_history_and_evidence_is_of_the_own_story(
    tmp_path: Path,
) -> None:
    second = changed(story_id="8", questions=[{**STORY["questions"][0], "question_id": "8_q1"}])
    alone = loaded(tmp_path, STORY, second)
    assert list(alone.histories) == ["7", "8"]
    together = loaded(tmp_path, STORY, second, benchmark="atant-cumulative")
    (history,) = together.histories.values()
    assert [session.position for session in history.sessions] == list(range(6))
    assert [question.evidence for question in together.questions] == [
        ("stories#0.0", "stories#1.0"),
        ("stories#2.0",),
        ("stories#3.0", "stories#4.0"),
    ]
    assert history.sessions[3].date == datetime(2024, 1, 24, 9, tzinfo=UTC)
    dates = [session.date for one in alone.histories.values() for session in one.sessions]
    assert dates == [session.date for session in history.sessions]


@pytest.mark.parametrize("shape", ["object", "array", "lines"])
def test_stories_may_be_an_object_an_array_or_a_line_each_and_utterances_be_called_facts(
    tmp_path: Path, shape: str
) -> None:
    story = {"facts" if name == "batches" else name: value for name, value in STORY.items()}
    if shape == "lines":
        file = tmp_path / "atant.jsonl"
        file.write_text(f"{json.dumps(story)}\n{json.dumps({**story, 'story_id': 9, 'questions': []})}\n")
    else:
        file = written(tmp_path, {"stories": [story]} if shape == "object" else [story])
    assert load("atant", file).questions == loaded(tmp_path, STORY).questions
    assert validate(file).benchmark == "atant"


@pytest.mark.parametrize(
    ("stories", "fault"),
    [
        (
            [changed(batches=[{"time": "at noon", "user_input": "Hm."}])],
            "story 1: time: 'at noon' is not such as",
        ),
        ([changed(batches=[])], "story 1: batches"),
        ([changed(batches=[{"time": "Monday 9:00 AM", "user_input": " "}])], "user_input"),
        ([changed(questions=[{**STORY["questions"][0], "expected_contains": []}])], "expected_contains"),
        ([STORY, changed(questions=[])], "story 2: the id 'story 7' is there twice"),
        ([STORY, changed(story_id=8)], "story 2: the id '7_q1' is there twice"),
        (["7"], "story 1: the row"),
    ],
)
def test_what_is_wrong_with_a_story_is_said_in_one_line_with_its_place(
    tmp_path: Path, stories: list[Any], fault: str
) -> None:
    with pytest.raises(BadInput) as refused:
        loaded(tmp_path, *stories)
    assert fault in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize("name", ["stories", "stories-cumulative"])
def test_the_built_in_stories_answer_every_question_and_hold_as_much_that_answers_none(name: str) -> None:
    told = load(name)
    turns = {turn.id: turn.text for history in told.histories.values() for turn in history.turns}
    for question in told.questions:
        assert not question.unresolved_evidence
        assert not missing("\n".join(turns[turn] for turn in question.evidence), question.contains)
    evidence = {turn for question in told.questions for turn in question.evidence}
    assert len({question.type for question in told.questions}) == 6
    assert sum(text.endswith("?") for turn, text in turns.items() if turn not in evidence) >= 6


def test_stories_are_judged_by_their_strings_through_a_whole_run(tmp_path: Path) -> None:
    run = run_in_loop(
        tmp_path, benchmark="stories-cumulative", conditions=conditions("oracle"), resamples=100
    )
    verdicts = run.table("verdicts")
    assert set(verdicts["judge"]) == {"strings"}
    assert set(verdicts["status"]) == {"judged"}
    assert verdicts["why"].str.startswith("rule strings").all()
    assert list(run.table("questions")["contains"][2]) == ["cast-iron pot", "48"]
