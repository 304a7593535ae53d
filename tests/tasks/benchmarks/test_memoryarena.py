"""MemoryArena's three tasks, on small files of their shape; the real ones are not at hand."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput
from tasks.benchmarks import load
from tasks.benchmarks.memoryarena import load as load_file
from tasks.benchmarks.validate import validate
from tasks.load import histories_of, made, questions_of

SMALL = Path(__file__).parents[2] / "fixtures/memoryarena"
TASKS = ("shopping", "travel", "search")
RULES = "You buy parts that must go together. Buy the cheapest that fits."


def small(task: str):
    return load(f"memoryarena-{task}", SMALL)


def search(**changed: Any) -> dict[str, Any]:
    return {
        "id": 1,
        "questions": ["Where?", "Who?"],
        "answers": ["In Graz.", "Ann."],
        "category": "x",
    } | changed


def travel(**changed: Any) -> dict[str, Any]:
    person = {"name": "Ilse", "query": "Plan a day.", "daily_plans": [{"days": 1, "lunch": "Blue Oven"}]}
    plan = [{"days": 1, "lunch": "Fish Hall", "dinner": "-"}]
    return {"id": 1, "questions": ["I am Olaf."], "answers": [plan], "base_person": person} | changed


def shopping(**changed: Any) -> dict[str, Any]:
    answer = {"target_asin": "B01", "attributes": ["red"]}
    return {"id": 1, "questions": ["Buy a cup."], "answers": [answer], "category": "kitchen"} | changed


def test_a_step_is_a_session_of_one_event_with_its_question_and_its_reference():
    history = small("search").histories["chain-1"]
    assert [session.position for session in history.sessions] == [0, 1, 2]
    assert [len(session.turns) for session in history.sessions] == [1, 1, 1]
    assert history.turns[0].id == "chain-1#0.0"
    assert history.turns[0].text == (
        "Question: Which town in the north has a bell foundry on a river?\nAnswer: The town is Ostrel."
    )


@pytest.mark.parametrize("task", TASKS)
def test_each_question_is_asked_after_the_steps_before_it(task):
    found = small(task)
    for question in found.questions:
        assert question.id == f"{question.history}:{question.after}"
        assert question.text in found.histories[question.history].sessions[question.after].turns[0].text


def test_citations_are_no_part_of_a_reference():
    found = [q.reference for q in small("search").questions if q.history == "chain-0"]
    assert found == [
        "The town is Varn.",
        "The river Ebra runs past it.",
        "Marta Quill founded it in 1820.",
        "In 1820.",
    ]


def test_what_stands_before_the_long_line_is_told_at_every_step_and_is_not_the_question():
    questions = small("shopping").questions
    assert {question.preamble for question in questions} == {RULES}
    assert questions[1].text == "Step 2: buy a lid that fits the kettle."
    assert questions[1].reference == "Product B0LID00001\n- copper\n- 18 cm"
    assert [q.type for q in questions[2:4]] == [
        "memoryarena-shopping: kitchen",
        "memoryarena-shopping: garden",
    ]


def test_rules_that_only_the_first_step_states_hold_for_those_after_it_and_not_before(written):
    texts = ["Buy a cup.", "Be cheap.\n----------\nBuy a pot.", "Buy a lid."]
    path = written([shopping(questions=texts, answers=shopping()["answers"] * 3)])
    questions = load_file(path, "memoryarena-shopping").questions
    assert [q.preamble for q in questions] == [None, "Be cheap.", "Be cheap."]
    assert [q.text for q in questions] == ["Buy a cup.", "Buy a pot.", "Buy a lid."]


def test_a_plan_is_its_filled_slots_a_line_each_and_starts_from_the_first_travellers():
    [first, *_] = small("travel").questions
    assert first.reference.splitlines() == [
        "Day 1:",
        "- current city: from Arlen to Morvale",
        "- transportation: train 12",
        "- attraction: Glass Museum",
        "- lunch: Blue Oven",
        "- dinner: Fish Hall",
        "- accommodation: Harbour Inn",
    ]
    assert first.preamble.startswith(
        "Ilse asks:\nPlan two days in Morvale for me.\n\nIlse's itinerary:\nDay 1:\n"
    )
    assert first.preamble.count("\n- ") == 11


@pytest.mark.parametrize("answer", [json.dumps([{"lunch": "Fish Hall"}]), {"daily_plans": [{"lunch": "Fish Hall"}]},
                                    {"lunch": "Fish Hall"}, [[{"lunch": "Fish Hall"}]]])  # fmt: skip
def test_plans_are_read_however_they_are_wrapped(written, answer):
    [question] = load_file(written([travel(answers=[answer])]), "memoryarena-travel").questions
    assert question.reference == "Day 1:\n- lunch: Fish Hall"


def test_a_step_without_a_reference_is_heard_but_not_asked(written):
    path = written([search(answers=["In Graz.", None], questions=["Where?", "Who?"])])
    found = load_file(path, "memoryarena-search")
    assert [question.id for question in found.questions] == ["1:0"]
    assert found.histories["1"].turns[1].text == "Who?"
    assert found.notes == ("steps without a reference answer, not asked: 1",)


@pytest.mark.parametrize(
    ("task", "questions", "sessions"), [("shopping", 5, 5), ("travel", 4, 4), ("search", 19, 19)]
)
def test_the_files_are_recognised_and_counted(task, questions, sessions):
    report = validate(next(SMALL.glob(f"*{task}*")))
    assert report.benchmark == f"memoryarena-{task}"
    assert (sum(report.questions.values()), report.sessions, report.turns) == (questions, sessions, sessions)


@pytest.mark.parametrize("entry", [search, travel, shopping])
def test_keys_that_nobody_knows_are_passed_over(written, entry):
    path = written([entry(**{"new": {"deep": [1]}, "category": None})])
    assert len(validate(path).questions) == 1


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        (search(id=None), "row 1: id.*: Input should be"),
        (search(questions=[]), "questions: List should have at least 1 item"),
        (search(questions=["Where?", " "]), r"questions.1: String should match"),
        (search(answers=["In Graz."]), "2 questions, 1 answers; they must be as many"),
        (search(answers=[None, "[1]"]), "no step has a reference answer"),
        (travel(base_person=None), "base_person: is null"),
        (travel(base_person={"name": "Ilse", "daily_plans": []}), "base_person.query: Field required"),
        (travel(base_person={"query": "Plan."}), "base_person.daily_plans: Field required"),
    ],
)
def test_what_is_missing_is_said_in_one_line(written, entry, said):
    with pytest.raises(BadInput, match=said) as caught:
        validate(written([entry]))
    assert "\n" not in str(caught.value)


def test_an_id_that_recurs_and_a_file_of_another_task_are_refused(written):
    with pytest.raises(BadInput, match="stands in the file twice"):
        validate(written([search(), search(id="1")]))
    with pytest.raises(BadInput, match="is an entry of memoryarena-search, not of memoryarena-travel"):
        load_file(written([search()]), "memoryarena-travel")


def test_an_answer_nested_beyond_reading_is_refused_in_one_line(written):
    answer = "[" * 900 + "]" * 900
    with pytest.raises(BadInput, match="nested"):
        validate(
            written('{"id": 1, "questions": ["a"], "answers": [{"target_asin": ' + answer + "}]}", "a.jsonl")
        )


ANY_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["daily_plans", "attributes", "target_asin", "lunch", "days", "x"]), inner
        )
    ),
    max_leaves=8,
)


@given(ANY_JSON, st.sampled_from([search, travel, shopping]), st.booleans())
def test_whatever_an_answer_is_it_loads_into_tables_or_is_refused(tmp_path_factory, answer, entry, as_text):
    path = tmp_path_factory.getbasetemp() / "any.jsonl"
    given_answer = json.dumps(answer) if as_text else answer
    path.write_text(json.dumps(entry(questions=["a?"], answers=[given_answer])))
    try:
        found = load_file(path, f"memoryarena-{entry.__name__}")
    except BadInput:
        return
    tables = made(found).tables
    assert questions_of(tables["questions"]) == list(found.questions)
    assert histories_of(tables["turns"]) == found.histories
