"""A study of one's own conversations, with questions and without: what it measures, and what it leaves out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows.json_output import tables
from flows.reporting import print_run, print_types
from memory.conversation import History
from memory.errors import BadInput, CallFailed
from results.compare import compare
from results.report.run_report import Money, write_report
from tasks.estimate import estimate
from tasks.kinds import make_study
from tasks.stage import Work
from tasks.start import find_complete, prepare, stages_of
from tests.flows.own_folder import own_folder
from tests.flows.study_in_loop import Watched, conditions, run_in_loop

FIELDS = {"benchmark": "own", "conditions": conditions("flat", "graph", "graph:improved"), "resamples": 200}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("data")
    return {name: own_folder(root / name, questions=name == "asked") for name in ("asked", "unasked")}


@pytest.fixture(scope="module")
def unasked(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Path]) -> Watched:
    return run_in_loop(tmp_path_factory.mktemp("unasked"), data=data["unasked"], **FIELDS)


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory, data: dict[str, Path]) -> Watched:
    return run_in_loop(tmp_path_factory.mktemp("asked"), data=data["asked"], **FIELDS)


def test_without_questions_the_run_is_complete_and_measures_every_memory(unasked: Watched) -> None:
    assert unasked.run.status == "complete"
    assert list(unasked.made) == ["load", "extract", "embed", "growth"]
    sizes = unasked.table("history_sizes").set_index(["condition", "history"])
    assert set(sizes.index) == {
        (c, h) for c in ("flat", "graph", "graph-improved") for h in ("../ann", "zed")
    }
    assert set(sizes["status"]) == {"ok"}
    assert sizes.loc[("flat", "../ann"), ["sessions", "turns", "items", "edges"]].tolist() == [3, 4, 4, 0]
    assert (
        sizes.loc["flat", ["found_by_title", "found_by_similarity", "near_duplicates"]].isna().all(axis=None)
    )


def test_each_extracted_node_is_new_or_found_again(unasked: Watched) -> None:
    sizes = unasked.table("history_sizes").set_index(["condition", "history"])
    turns, extracted = (
        unasked.table("turns"),
        unasked.table("extractions").set_index("content")["nodes"].map(len),
    )
    for history, own in turns.groupby("history"):
        found = sizes.loc[("graph", history)]
        assert found["items"] + found["found_by_title"] + found["found_by_similarity"] == sum(
            extracted[content] for content in own["content"]
        )
    assert sizes.loc[("graph", "../ann"), "found_by_title"] >= 2  # Ann speaks again, and Ghent is named again


def test_growth_is_told_after_every_session_and_ends_in_the_size(unasked: Watched) -> None:
    growth, sizes = unasked.table("history_growth"), unasked.table("history_sizes")
    ann = growth[(growth["condition"] == "graph") & (growth["history"] == "../ann")]
    assert ann["session_position"].tolist() == [0, 1, 2]
    assert ann["turns"].tolist() == [2, 3, 4]
    assert (ann[["items", "edges", "found_by_title"]].diff().dropna() >= 0).all(axis=None)
    last = growth.groupby(["condition", "history"], sort=False)[["turns", "items", "edges"]].last()
    kept = sizes.set_index(["condition", "history"])[["turns", "items", "edges"]]
    assert last.sort_index().equals(kept.sort_index())


def test_the_same_command_finds_it_complete_until_a_question_is_added(
    unasked: Watched, tmp_path: Path
) -> None:
    study = make_study(FIELDS)
    assert find_complete(unasked.folder, unasked.run)
    with_questions = own_folder(tmp_path / "own", questions=True)
    with pytest.raises(BadInput, match=r"holds another run; .*data"):
        prepare(study, with_questions, Path(unasked.run.store), unasked.folder)


def test_a_memory_that_cannot_be_built_is_a_row_with_its_reason_and_is_tried_again(
    data: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(work: Work, history: History) -> None:
        raise CallFailed("timed out", final=False)

    fields = {**FIELDS, "conditions": conditions("bm25", "graph"), "data": data["unasked"]}
    with monkeypatch.context() as broken:
        broken.setattr("tasks.growth.require_extracted", refuse)
        run = run_in_loop(tmp_path, **fields)
    assert run.run.status == "incomplete"
    sizes = run.table("history_sizes")
    assert sizes.groupby("condition")["status"].unique().map(list).to_dict() == {
        "bm25": ["ok"],
        "graph": ["failed"],
    }
    assert set(sizes[sizes["condition"] == "graph"]["reason"]) == {"timed out"}
    again = run_in_loop(tmp_path, **fields)
    assert again.run.status == "complete"
    assert again.made["growth"] == ["graph-0000"]


def test_it_is_printed_reported_and_given_as_json_without_figures_of_answers(
    unasked: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    print_run(unasked.folder)
    printed = capsys.readouterr().out
    assert "near-duplicates left" in printed
    assert "paired differences" not in printed
    html = write_report(unasked.folder, Money()).read_text()
    assert "Memories, summed over histories" in html
    found = tables(unasked.folder)
    assert "means" not in found
    assert len(found["sizes"]) == 6
    json.dumps(found, allow_nan=False)


def test_what_needs_questions_says_so(unasked: Watched, data: dict[str, Path]) -> None:
    with pytest.raises(BadInput, match="its conversations came without questions"):
        print_types(unasked.folder, as_markdown=True)
    with pytest.raises(BadInput, match=r"no metrics.parquet in it"):
        compare(f"{unasked.folder}:graph", f"{unasked.folder}:flat")
    store = Path(unasked.run.store)
    for fields in (
        {"study": "forgetting", "benchmark": "own"},
        {**FIELDS, "explain": True},
    ):
        with pytest.raises(
            BadInput, match=r"holds no questions, which this study asks; put questions.jsonl beside"
        ):
            prepare(make_study(fields), data["unasked"], store, None)
    with pytest.raises(BadInput, match="the conversations have none"):
        prepare(make_study({**FIELDS, "limit": 3}), data["unasked"], store, None)


def test_it_is_estimated_and_nothing_is_left_to_buy_when_it_is_there(
    unasked: Watched, data: dict[str, Path], tmp_path: Path
) -> None:
    study, store = make_study(FIELDS), Path(unasked.run.store)
    assert estimate(study, data["unasked"], store, unasked.folder).complete
    ahead = estimate(study, data["unasked"], tmp_path / "store", tmp_path / "run")
    assert {heading.stage for heading in ahead.lines} == {"extract", "embed"}


def test_with_questions_the_study_is_whole_and_every_history_is_measured_still(asked: Watched) -> None:
    assert asked.run.status == "complete"
    assert tuple(asked.made) == stages_of(asked.run.study)
    assert set(asked.table("history_sizes")["history"]) == {"../ann", "zed"}
    assert set(asked.table("metrics")["history"]) == {"../ann"}
    assert set(asked.table("graphs/graph/nodes")["history"]) == {"../ann"}


def test_a_question_without_a_reference_is_answered_and_neither_scored_nor_judged(asked: Watched) -> None:
    metrics = asked.table("metrics").set_index(["question", "condition"])
    scored, plain = metrics.loc["1"], metrics.loc["2"]
    assert scored[["f1", "judge", "turn_mrr"]].notna().all(axis=None)
    assert plain[["precision", "recall", "f1", "f1_improved", "judge", "turn_mrr"]].isna().all(axis=None)
    assert set(plain["status"]) == {"answered"}
    assert set(plain["judge_status"]) == {"no_reference"}
    verdicts = asked.table("verdicts")
    assert set(verdicts[verdicts["question"] == "2"]["reason"]) == {"the question has no reference answer"}
    assert compare(f"{asked.folder}:graph", f"{asked.folder}:flat").metrics["f1"].n == 1
