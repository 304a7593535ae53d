from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.errors import BadInput
from results.report.run_report import Money, write_report
from results.report.sources import RunFolder
from tests.flows.study_in_loop import Watched, conditions, run_in_loop


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return run_in_loop(
        tmp_path_factory.mktemp("report"), conditions=conditions("none", "flat", "graph"), limit=4
    )


def test_a_report_is_one_file_in_the_run_folder_that_says_what_was_run(run: Watched) -> None:
    path = write_report(run.folder, Money(budget=["budget: 3 of 10 calls spent, 7 left"]))
    page = path.read_text("utf-8")
    assert path == run.folder / "report.html"
    assert run.run.sha256 in page
    assert "budget: 3 of 10 calls spent, 7 left" in page
    assert "3 conditions over 4 questions of" in page


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"no run folder: it has no run\.json"):
        write_report(tmp_path, Money())


def test_a_run_json_of_another_shape_is_refused_by_name(tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(["not", "a", "run"]))
    with pytest.raises(BadInput, match=r"run\.json is not what a run writes"):
        RunFolder(tmp_path)
