"""`palimpsest export`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from flows import cli
from results import export
from results.columns import documented
from tests.flows.in_process import called
from tests.flows.study_in_loop import conditions, run_in_loop

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_in_loop(
        tmp_path_factory.mktemp("export"), conditions=conditions("flat"), limit=1, resamples=100
    ).folder


def test_every_file_that_is_written_is_named(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert called(monkeypatch, "export", str(run), "--csv", "c", "--xlsx", "x/r.xlsx", "--latex", "t") == 0
    named = capsys.readouterr().out.split()
    there = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()]
    assert sorted(named) == sorted(there)
    assert {
        "c/metrics.csv",
        "c/calls.csv",
        "c/columns.csv",
        "x/r.xlsx",
        "t/table_1.tex",
        "t/tables.tex",
    } <= set(named)
    assert "c/vectors.csv" not in named


def test_only_the_tables_that_are_named_are_written(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ("--table", "metrics", "--table", "vectors", "--csv", "c")
    assert called(monkeypatch, "export", str(run), *words) == 0
    assert capsys.readouterr().out.split() == ["c/vectors.csv", "c/metrics.csv", "c/columns.csv"]


def test_a_table_that_no_sheet_holds_is_left_out_and_named(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(export, "ROWS_OF_A_SHEET", 10)
    assert called(monkeypatch, "export", str(run), "--xlsx", "r.xlsx") == 0
    assert "note: turns has more than the" in capsys.readouterr().err
    assert called(monkeypatch, "export", str(run), "--xlsx", "r.xlsx", "--table", "turns") == cli.BAD_INPUT


def test_what_cannot_be_written_is_one_line_and_code_2(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("taken").write_text("a file of the user's")
    for words in (["--csv", "taken"], ["--latex", "taken"], ["--xlsx", "taken/r.xlsx"], []):
        assert called(monkeypatch, "export", str(run), *words) == cli.BAD_INPUT
        error = capsys.readouterr().err
        assert error.startswith("error: export: ")
        assert error.count("\n") == 1, error
    assert Path("taken").read_text() == "a file of the user's"


def test_an_unfinished_run_is_told_and_one_with_pending_rows_is_noted(
    run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("run").mkdir()
    Path("run/metrics.parquet").write_bytes((run / "metrics.parquet").read_bytes())
    for status, code, told in (
        ("stopped", cli.BAD_INPUT, "error: run: the run is stopped"),
        ("incomplete", 0, "note:"),
    ):
        Path("run/run.json").write_text(json.dumps({"name": "r", "status": status}))
        assert called(monkeypatch, "export", "run", "--csv", "c") == code
        assert capsys.readouterr().err.startswith(told)


def test_the_columns_of_a_table_are_listed_with_units_and_meanings(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert called(monkeypatch, "list", "columns", "calls") == 0
    printed = " ".join(capsys.readouterr().out.split())
    for column in documented()["calls"].columns:
        assert column.name in printed
        assert column.meaning[:30] in printed
    assert called(monkeypatch, "list", "columns", "nonsense") == cli.BAD_INPUT
    assert "no table 'nonsense'; there are turns, questions" in capsys.readouterr().err


def test_a_run_of_one_condition_is_shown_without_comparisons(
    run: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert called(monkeypatch, "show", str(run)) == 0
    assert "paired differences" not in capsys.readouterr().out
    assert called(monkeypatch, "show", str(run), "--json") == 0
    assert json.loads(capsys.readouterr().out)["comparisons"] == []
