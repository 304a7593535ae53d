"""`palimpsest probe`, as it is typed."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from tests.flows.in_process import called

Capture = pytest.CaptureFixture[str]


def test_each_table_is_printed_and_written_as_parquet_and_markdown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    words = ("probe", "extractor", "--benchmark", "sample", "--to", str(tmp_path / "new"))
    assert called(monkeypatch, *words) == 0
    shown = capsys.readouterr().out
    assert "noun phrases" in shown and "capitalised words" in shown
    names = {"probe_extractor", "probe_labels", "probe_predicates"}
    assert {path.name for path in (tmp_path / "new").iterdir()} == {
        f"{name}.{ending}" for name in names for ending in ("parquet", "md")
    }
    assert pq.read_table(tmp_path / "new/probe_labels.parquet").column_names == [
        *("extractor", "label", "count", "share")
    ]


def test_json_holds_the_numbers_and_null_where_there_is_none(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert called(monkeypatch, "probe", "answerer", "--benchmark", "sample", "--json") == 0
    rows = json.loads(capsys.readouterr().out)["probe_answerer"]
    assert {row["profile"] for row in rows} == {"published", "improved"}
    assert any(row["n"] == 1 and row["low"] is None for row in rows), "one question has no interval"


def test_a_folder_without_the_published_results_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert called(monkeypatch, "probe", "judge", "--data", str(tmp_path)) == 2
    assert str(tmp_path) in capsys.readouterr().err


def test_a_place_that_cannot_be_written_to_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "file").write_text("")
    words = ("probe", "answerer", "--benchmark", "sample", "--to", str(tmp_path / "file/new"))
    assert called(monkeypatch, *words) == 2
    assert "choose another folder" in capsys.readouterr().err
