"""One question for each way in which an answer can be lost, through a whole study with scripted models."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pytest

from flows.waterfall_report import print_waterfall
from results.schemas import QUESTIONS
from results.waterfall import CAUSES, OUTSIDE
from tasks import waterfall
from tasks.execute import only_found
from tasks.models.catalogue import BUNDLES
from tasks.stage import Artefact, Made, Stage, Work, perform
from tasks.start import plan_of
from tests.flows.fake_llm import in_the_place_of_providers, kind_of
from tests.flows.study_in_loop import Watched, run_in_loop
from tests.tasks.models.fakes import Answer, Request, chat

Node = tuple[str, str, dict[str, str]]
"""Title, content and attributes of an extracted Concept."""


@dataclass(frozen=True)
class Said:
    """A turn, with what the extractor makes of it."""

    text: str
    nodes: tuple[Node, ...]
    evidence: bool = True


@dataclass(frozen=True)
class Case:
    """A history with its question, what the question is about, and what the answerer says to it."""

    question: str
    reference: str
    turns: tuple[Said, ...]
    about: str
    answer: str
    causes: dict[str, str] = field(default_factory=dict)


def concept(title: str, content: str = "", **attributes: str) -> Node:
    return title, content, attributes


CASES = {
    "answered": Case(
        "Who is my dentist?",
        "Doctor Quill",
        (Said("My dentist is Doctor Quill.", (concept("dentist", "is Doctor Quill"),)),),
        "dentist",
        "Doctor Quill",
        {"graph": "answered", "graph-improved": "answered", "flat": "answered", "none": "answered"},
    ),
    "not-extracted": Case(
        "When does my ferry leave?",
        "nine fifteen",
        (Said("I take the ferry to Oslo at nine fifteen.", (concept("ferry", "to Oslo"),)),),
        "ferry",
        "to Oslo",
        {
            "graph": "not extracted",
            "graph-improved": "not extracted",
            "flat": "misread",
            "none": "not stored",
        },
    ),
    "overwritten": Case(
        "What was the first code of my locker?",
        "4711",
        (
            Said("My locker has the code 4711.", (concept("locker", code="4711"),)),
            Said("My locker has the code 9034 now.", (concept("locker", code="9034"),), evidence=False),
        ),
        "locker",
        "9034",
        {"graph": "merged away", "graph-improved": "misread"},
    ),
    "content-dropped": Case(
        "What does the bakery sell?",
        "rye bread",
        (
            Said("The bakery is in Elm Street.", (concept("bakery", "in Elm Street"),), evidence=False),
            Said("The bakery sells rye bread.", (concept("bakery", "sells rye bread"),)),
        ),
        "bakery",
        "unknown",
        {"graph": "merged away", "graph-improved": "merged away"},
    ),
    "not-recalled": Case(
        "What grows in my garden?",
        "forty tulips",
        (Said("In my garden grow forty tulips.", (concept("garden", "grow forty tulips"),)),),
        "spaceship",
        "unknown",
        {"graph": "not recalled"},
    ),
    "misread": Case(
        "Where is my bicycle?",
        "in the cellar",
        (Said("My bicycle is in the cellar.", (concept("bicycle", "is in the cellar"),)),),
        "bicycle",
        "in the attic",
        {"graph": "misread", "graph-improved": "misread", "flat": "misread", "none": "not stored"},
    ),
    "all-turns-wanted": Case(
        "How many pets are mine?",
        "2",
        (
            Said("I have a cat called Miso.", (concept("Miso", "a cat"),)),
            Said("I have a dog called Rex.", (concept("Rex", "a dog"),)),
        ),
        "Miso",
        "one",
        {"graph": "not recalled", "flat": "not recalled"},
    ),
    "short-answer-said": Case(
        "How old is my horse?",
        "7",
        (
            Said("My horse is 6.", (concept("foal", "is 6"),)),
            Said("My horse has turned 7.", (concept("horse", "has turned 7"),)),
        ),
        "horse",
        "6",
        {"graph": "misread"},
    ),
    "only-the-speaker": Case(
        "How do I greet people?",
        "politely",
        (Said("Good day to you.", ()),),
        "greeting",
        "unknown",
        {"graph": "not extracted", "graph-improved": "not extracted", "flat": "misread"},
    ),
    "right-all-the-same": Case(
        "What is the capital of France?",
        "Paris",
        (Said("Paris is the capital of France.", (concept("France", "a capital"),)),),
        "France",
        "Paris",
        {"graph": "answered"},
    ),
    "no-verdict": Case(
        "Why is it cold?",
        "the window is open",
        (Said("It is cold as the window is open.", (concept("window", "is open"),)),),
        "window",
        "the window",
        {"graph": "unjudged"},
    ),
    "no-evidence": Case(
        "What is new?",
        "a lamp",
        (Said("A lamp is new.", (), False),),
        "lamp",
        "a lamp",
        {"graph": "no evidence"},
    ),
    "no-answer": Case(
        "What is old?",
        "the chair",
        (Said("What is old is the chair.", (concept("chair", "is old"),)),),
        "chair",
        "",
        {"graph": "failed"},
    ),
}


def scripted(request: Request) -> Answer:
    """The extractor's, reader's, answerer's and judge's words of the case that a request belongs to."""
    if "messages" not in request.body:
        return Answer()
    text = request.user
    if kind_of(request) == "extract":
        said = next(turn for case in CASES.values() for turn in case.turns if turn.text in text)
        return chat(json.dumps(extracted(said)))
    case = next(case for case in CASES.values() if case.question in text)
    match kind_of(request):
        case "query":
            return chat(json.dumps({"entities": [{"label": "Concept", "title": case.about}]}))
        case "answer":
            return chat(case.answer)
    if case is CASES["no-verdict"]:
        return chat("Perhaps.")
    return chat(json.dumps({"correct": case.answer == case.reference, "why": "as it is"}))


def extracted(said: Said) -> dict[str, Any]:
    """The speaker's node, and those of the turn, which no edge joins."""
    nodes = {
        f"n{number}": {
            "label": "Concept",
            "title": title,
            "content": content or None,
            "attributes": attributes,
        }
        for number, (title, content, attributes) in enumerate(said.nodes)
    }
    return {"nodes": {"me": {"label": "Person", "title": "User"}, **nodes}, "edges": {}}


def write(folder: Path) -> Path:
    """The cases as conversations of one's own, each turn in a session of its own."""
    turns, questions = [], []
    for name, case in CASES.items():
        for day, said in enumerate(case.turns, start=1):
            turn = {
                "history": name,
                "id": f"t{day}",
                "role": "user",
                "date": f"2024-05-{day:02}",
                "session": f"s{day}",
            }
            turns.append({**turn, "text": said.text})
        evidence = [f"t{day}" for day, said in enumerate(case.turns, start=1) if said.evidence]
        asked = {"history": name, "id": name, "question": case.question, "evidence": evidence}
        questions.append({**asked, "reference": case.reference})
    for file, lines in (("turns", turns), ("questions", questions)):
        (folder / f"{file}.jsonl").write_text("\n".join(map(json.dumps, lines)))
    return folder


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("waterfall")
    conditions = [
        {"system": "none"},
        {"system": "flat", "settings": {"k": 1}},
        {"system": "graph"},
        {"system": "graph", "profile": "improved"},
    ]
    with pytest.MonkeyPatch.context() as patch, in_the_place_of_providers(patch) as server:
        server.always(scripted)
        yield run_in_loop(
            folder,
            benchmark="own",
            data=write(folder),
            models=BUNDLES["published"].model_dump(),
            conditions=conditions,
            resamples=100,
        )


def rows(run: Watched, question: str) -> pd.DataFrame:
    table = run.table("waterfall")
    return table[table["question"] == question].set_index("condition")


@pytest.mark.parametrize("name", CASES)
def test_each_miss_is_named_by_where_it_happened(run: Watched, name: str) -> None:
    found = rows(run, name)["cause"].to_dict()
    assert {condition: found[condition] for condition in CASES[name].causes} == CASES[name].causes


STEPS = ["in_turn", "in_extraction", "in_memory", "in_context", "in_answer"]


def test_the_steps_say_where_a_thing_was_seen_last_and_are_null_where_a_system_has_no_such_step(
    run: Watched,
) -> None:
    steps = rows(run, "overwritten")[STEPS]
    assert list(steps.loc["graph"]) == [True, True, False, False, False]
    assert list(steps.loc["graph-improved"]) == [True, True, True, True, False], "the former value is shown"
    assert steps.loc["flat"]["in_extraction"] is None
    assert list(steps.loc["none"]) == [True, None, False, False, False]


def test_an_answer_that_is_right_although_its_source_was_lost_is_answered_and_flagged(run: Watched) -> None:
    found = rows(run, "right-all-the-same")
    assert found.loc["graph"]["regained"]
    assert not found.loc["graph"]["in_extraction"]
    assert not rows(run, "answered").loc["graph"]["regained"]


def test_of_a_count_all_evidence_turns_are_wanted_and_how_many_are_there_is_kept(run: Watched) -> None:
    flat = rows(run, "all-turns-wanted").loc["flat"]
    assert (flat["tracked"], flat["evidence"], flat["evidence_held"], flat["evidence_shown"]) == (
        "evidence",
        2,
        2,
        1,
    )
    assert pd.isna(flat["evidence_extracted"])
    short = rows(run, "short-answer-said").loc["graph"]
    assert (short["tracked"], short["evidence"], short["evidence_shown"]) == ("evidence", 2, 1)


def test_no_question_of_a_condition_is_dropped_and_shares_add_up(run: Watched) -> None:
    table = run.table("waterfall")
    assert table.groupby("condition")["question"].nunique().eq(len(CASES)).all()
    assert set(table["cause"]) <= {*CAUSES, *OUTSIDE}
    counted = run.table("waterfall_types")
    graph = counted[
        (counted["condition"] == "graph") & (counted["type"] == "all") & (counted["tracked"] == "all")
    ]
    by_name = graph.set_index("name")
    assert by_name["n"][[*CAUSES, *OUTSIDE]].sum() == len(CASES)
    assert by_name["share"][list(CAUSES)].sum() == pytest.approx(1)
    assert (by_name["of"]["misread"], by_name["n"]["failed"], by_name["n"]["unjudged"]) == (
        len(CASES) - 3,
        1,
        1,
    )


def test_the_terminal_shows_each_condition_and_by_type_each_type(
    run: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    print_waterfall(run.folder)
    shown = capsys.readouterr().out
    assert all(f" {name} " in shown for name in ("none", "flat", "graph", "graph-improved"))
    assert "evidence tracked" not in shown
    print_waterfall(run.folder, by_type=True, as_markdown=True)
    assert "| graph | all, evidence tracked | 3 |" in capsys.readouterr().out
    assert "| graph | own | 10 |" in (run.folder / "waterfall_types.md").read_text()


def works(run: Watched) -> dict[str, Work]:
    """The works that traced the run, by condition."""
    found: list[Work] = []

    def execute(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        found.extend(works if stage.name == "waterfall" else [])
        return only_found(stage, works)

    plan_of(run.folder, run.run, execute).walk()
    return {work.batch.rpartition("-")[0]: work for work in found}


def traced(work: Work, **inputs: Artefact) -> pd.DataFrame:
    """The rows of a work with some of its inputs replaced, by question."""
    made = waterfall.make(work.model_copy(update={"inputs": {**work.inputs, **inputs}}))
    return made.tables["waterfall"].to_pandas().set_index("question")


def test_a_system_that_does_not_say_what_it_holds_has_every_step_but_that(run: Watched) -> None:
    by_condition = works(run)
    graph, flat = (
        traced(work, recall=recall.model_copy(update={"files": {"recalls": recall.files["recalls"]}}))
        for work in (by_condition["graph"], by_condition["flat"])
        for recall in [work.inputs["recall"]]
    )
    for rows in (graph, flat):
        assert rows["in_memory"].isna().all()
        assert rows["evidence_held"].isna().all()
    assert graph["cause"]["overwritten"] == "not recalled"
    assert graph["cause"]["not-extracted"] == "not extracted"
    assert flat["cause"]["misread"] == "misread"
    assert flat["evidence_shown"]["all-turns-wanted"] == 1, "of two ranked turns the context shows one"


def test_abstention_and_evidence_that_matches_no_turn_are_outside_and_named(run: Watched) -> None:
    work = works(run)["graph"]
    questions = work.read("load", "questions").to_pandas()
    questions.loc[questions["question"] == "answered", "abstention"] = True
    unresolved = questions["question"] == "misread"
    questions["unresolved_evidence"] = [["D1:3"] if lost else [] for lost in unresolved]
    tables = {
        "turns": work.read("load", "turns"),
        "questions": pa.Table.from_pandas(questions, schema=QUESTIONS),
    }
    changed = work.model_copy(update={"stage": "load", "batch": "changed", "inputs": {}})
    rows = traced(work, load=perform(Stage("load", 1, lambda work: Made(tables, {})), changed))
    assert (rows["cause"]["answered"], rows["cause"]["misread"]) == ("abstention", "evidence unresolved")
    assert rows.loc[["answered", "misread"], [*STEPS, "tracked"]].isna().all(axis=None)
    assert rows["cause"]["content-dropped"] == "merged away"
