from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import flows.report
from flows.cli import app
from flows.report import report_after
from tests.flows.study_in_loop import Watched, conditions, run_in_loop


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return run_in_loop(tmp_path_factory.mktemp("report"), conditions=conditions("none", "flat"), limit=3)


def test_the_command_writes_the_report_where_it_is_told_and_says_where(run: Watched, tmp_path: Path) -> None:
    out = tmp_path / "mine.html"
    result = CliRunner().invoke(app, ["report", str(run.folder), "--out", str(out)])
    assert result.exit_code == 0
    page = out.read_text("utf-8")
    assert run.run.sha256 in page
    assert "offline:extractive" in page
    assert "2 conditions over 3 questions" in page


def test_two_conditions_are_compared_in_a_report(run: Watched, tmp_path: Path) -> None:
    out = tmp_path / "ab.html"
    command = [
        "compare",
        f"{run.folder}:flat",
        f"{run.folder}:none",
        "--html",
        str(out),
        "--resamples",
        "100",
    ]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert "flat minus none" in out.read_text("utf-8")


def test_what_keeps_a_report_from_being_written_is_one_line_and_not_the_runs_failure(
    run: Watched, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(flows.report, "write_report", full)
    assert report_after(run.folder) is None
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("no report: ")
    assert "No space left on device" in line
    assert f"palimpsest report {run.folder} tries again" in line
