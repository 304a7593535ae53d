"""Data may change under a process that lives long, and between a run's start and its first stage."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from memory.errors import BadInput
from tasks.load import conversations_of
from tasks.start import start
from tests.flows.study_in_loop import conditions, run_in_loop

SAMPLE = Path(__file__).parents[2] / "tasks/benchmarks/sample.json"


def edited(path: Path, word: str) -> Path:
    rows = json.loads(SAMPLE.read_text(encoding="utf-8"))
    rows[0]["question"] = word
    path.write_text(json.dumps(rows), encoding="utf-8")
    return path


def test_a_file_that_was_edited_between_two_runs_of_a_process_is_read_anew(tmp_path: Path) -> None:
    data = edited(tmp_path / "data.json", "first?")
    first = conversations_of("longmemeval-s", data, None, None, 0)
    assert conversations_of("longmemeval-s", data, None, None, 0) is first
    edited(data, "second?")
    second = conversations_of("longmemeval-s", data, None, None, 0)
    assert second.sha256 != first.sha256
    assert second.questions[0].text == "second?"


def test_a_file_that_changed_since_the_run_began_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the run would say the hash of one file over the rows of another."""
    data = edited(tmp_path / "data.json", "first?")
    monkeypatch.setattr(
        "tests.flows.study_in_loop.start", lambda *given: (start(*given), edited(data, "second?"))[0]
    )
    with pytest.raises(BadInput, match="has changed since the run began"):
        run_in_loop(tmp_path, benchmark="longmemeval-s", data=data, conditions=conditions("none"))
