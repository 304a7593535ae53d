"""Artifacts of a flow run on a real server: small, of JSON, harmless, and never a run's fault."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from prefect import flow
from prefect.artifacts import Artifact
from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.testing.utilities import prefect_test_harness

from flows import artifacts
from flows.artifacts import MOST_CHARACTERS, MOST_ROWS, by_condition, key_of, percent, rows_of, show_results
from results.report.elements import Estimated, Section, TextTable, chart
from tasks.forgetting_study import ForgettingStudy
from tasks.kinds import make_study
from tasks.progress import PROGRESS
from tasks.start import stages_of
from tasks.study import Study
from tests.flows.study_in_loop import conditions, run_in_loop

NAN = float("nan")


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with prefect_test_harness(server_startup_timeout=180):
        yield


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shown")
    return run_in_loop(folder, conditions=conditions("full_context", "flat"), limit=4).folder


def shown(key: str) -> Any:
    found = Artifact.get(key)
    assert found is not None
    return found


def all_keys() -> set[str]:
    with get_client(sync_client=True) as client:
        return {str(found["key"]) for found in client._client.post("/artifacts/filter").json()}


@flow
def showing(folder: str) -> None:
    show_results(Path(folder))


def test_a_run_leaves_its_tables_and_says_where_its_report_lies(run: Path) -> None:
    showing(str(run))
    rows = json.loads(shown("representation-sample-conditions").data)
    assert [(row["Condition"], row["n"]) for row in rows] == [("full_context", "4"), ("flat", "4")]
    spent = json.loads(shown("representation-sample-spending").data)
    assert {row["Stage"] for row in spent} >= {"embed", "answer", "judge"}
    assert "No budget was set." in shown("representation-sample-spending").description
    assert json.loads(shown("representation-sample-failures").data) == [{"Failures and missing rows": "none"}]
    assert f"`{run / 'report.html'}`" in shown("representation-sample-report").data


def test_keys_are_of_the_letters_that_prefect_takes() -> None:
    for study in (Study(), ForgettingStudy(benchmark="locomo-adversarial")):
        assert re.fullmatch(r"[a-z0-9-]+", key_of(study, "conditions"))


def test_a_figure_that_is_missing_is_a_dash_and_an_n_of_its_own_is_told() -> None:
    section = Section(
        "headline",
        "Headline",
        charts=(
            chart(
                "F1",
                "Condition",
                [Estimated("flat", 0.5, 0.25, 0.75, 4), Estimated("none", 0.0, 0.0, 0.0, 4)],
            ),
            chart(
                "MRR", "Condition", [Estimated("flat", 0.2, NAN, NAN, 3), Estimated("none", NAN, NAN, NAN, 0)]
            ),
        ),
    )
    assert by_condition(section) == [
        {"Condition": "flat", "n": "4", "F1 [95 %]": "0.500 [0.250, 0.750]", "MRR [95 %]": "0.200, n = 3"},
        {"Condition": "none", "n": "4", "F1 [95 %]": "0.000 [0.000, 0.000]", "MRR [95 %]": "–, n = 0"},
    ]


def test_a_table_is_small_whatever_models_have_said() -> None:
    said = "\x1b[31mred\u202e\n" + "x" * 10_000
    rows = rows_of(Section("a", "A", tables=(TextTable("", ("Reason",), ((said,),) * 5_000),)))
    assert len(rows) == MOST_ROWS
    assert all(len(row["Reason"]) == MOST_CHARACTERS and row["Reason"].isprintable() for row in rows)


def test_on_the_short_lived_server_nothing_is_left(run: Path) -> None:
    before = all_keys()
    with temporary_settings(restore_defaults={PREFECT_API_URL}):
        assert not artifacts.recorded()
        show_results(run / "nothing of it is read")
    assert all_keys() == before


def test_a_fault_of_an_artifact_is_a_warning_and_never_the_runs(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []

    class Ear(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            heard.append(record.getMessage())

    def refuse(*_: object) -> None:
        raise ValueError("the server takes no artifacts")

    ear = Ear(logging.WARNING)
    logging.getLogger("prefect.flow_runs").addHandler(ear)
    monkeypatch.setattr(artifacts, "create_table_artifact", refuse)
    monkeypatch.setattr(artifacts, "create_progress_artifact", refuse)

    @flow
    def unlucky() -> str:
        with artifacts.progress_shown(Study()):
            show_results(run)
            show_results(tmp_path)
        return "done"

    assert unlucky() == "done"
    logging.getLogger("prefect.flow_runs").removeHandler(ear)
    assert len(heard) == 3
    assert sum("takes no artifacts" in line for line in heard) == 2
    assert any("is no run folder" in line for line in heard)


def test_progress_counts_each_stage_alike_and_moves_within_it(monkeypatch: pytest.MonkeyPatch) -> None:
    stages = ("load", "answer", "judge", "score")
    for stage, done, total, share in [
        ("", 0, 0, 0),
        ("load", 1, 1, 25),
        ("answer", 1, 4, 31.25),
        ("score", 3, 3, 100),
    ]:
        monkeypatch.setattr(PROGRESS, "stage", stage)
        monkeypatch.setattr(PROGRESS, "done", done)
        monkeypatch.setattr(PROGRESS, "total", total)
        assert percent(stages) == share


def test_a_progress_artifact_ends_where_the_run_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(PROGRESS, "stage", "judge")
    monkeypatch.setattr(PROGRESS, "done", 1)
    monkeypatch.setattr(PROGRESS, "total", 2)

    @flow
    def stopping() -> None:
        with artifacts.progress_shown(make_study({"benchmark": "longmemeval-s"})):
            raise KeyError("stopped")

    assert stopping(return_state=True).is_failed()
    found = shown("representation-longmemeval-s-progress")
    assert found.data == pytest.approx(
        100 * (stages_of(Study()).index("judge") + 0.5) / len(stages_of(Study()))
    )
    assert found.description.startswith("judge: 1/2 batches")


def test_the_stages_that_progress_counts_are_those_of_the_study_in_their_order(tmp_path: Path) -> None:
    found = run_in_loop(tmp_path, conditions=conditions("flat", "graph"), limit=2)
    assert tuple(found.made) == stages_of(found.run.study)
