"""The command `calibrate`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tasks.thresholds import ProbedThresholds, read_thresholds
from tests.flows.in_process import called
from tests.tasks.models.fakes import FakeServer

Capture = pytest.CaptureFixture[str]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What the first test buys, the others find there."""
    return tmp_path_factory.mktemp("store")


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, store: Path) -> Iterator[list[str]]:
    """The command for an embedder on a fake server."""
    monkeypatch.chdir(tmp_path)
    with FakeServer() as server:
        monkeypatch.setenv("OLLAMA_HOST", server.ollama)
        yield ["calibrate", "--embedder", "ollama:some@8", "--store", str(store)]


def test_it_prints_both_halves_and_says_which_of_them_chose(
    probe: list[str], monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert called(monkeypatch, *probe) == 0
    said = capsys.readouterr().out
    assert "choosing half" in said and "reported half" in said
    assert "had no say" in said
    assert "built in for this embedder: none" in said


def test_it_writes_thresholds_and_curve(
    probe: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    assert called(monkeypatch, *probe, "--to", "my/thresholds.toml", "--curve", "curve", "--json") == 0
    said = json.loads(capsys.readouterr().out)
    written = read_thresholds(tmp_path / "my" / "thresholds.toml")
    assert (said["dedup"], said["floor"], said["embedder"]) == (written.dedup, written.floor, "ollama:some@8")
    curve = pd.read_parquet(tmp_path / "curve" / "calibration.parquet")
    assert len(curve) == len(said["curve"]) == 400  # two purposes, two halves, a hundred thresholds
    assert len(pd.read_parquet(tmp_path / "curve" / "calibration_pairs.parquet")) == 600
    assert (tmp_path / "curve" / "calibration.png").stat().st_size > 0
    assert "threshold (cosine)" in (tmp_path / "curve" / "calibration.svg").read_text()


def test_thresholds_are_of_use_to_no_other_embedder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    own = ProbedThresholds(
        embedder="ollama:some@8", dedup=0.9, floor=0.5, dedup_pairs=200, floor_pairs=100, probe="abc"
    )
    Path("own.toml").write_text(own.toml())
    assert called(monkeypatch, "estimate", "--thresholds", "own.toml") == 2
    error = capsys.readouterr().err
    assert "ollama:some@8" in error and "offline:minilm" in error and error.count("\n") == 1


def test_a_file_that_cannot_be_written_is_one_line(
    probe: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "taken").write_text("a file where a folder is wanted")
    assert called(monkeypatch, *probe, "--json", "--to", "taken/own.toml") == 2
    assert "taken" in capsys.readouterr().err


def test_an_unknown_embedder_is_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert called(monkeypatch, "calibrate", "--embedder", "nonsense") == 2
    assert "nonsense" in capsys.readouterr().err
