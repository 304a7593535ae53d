"""`palimpsest ask` and `palimpsest convert` as a user types them, in this process."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tasks.models.ledger import Ledger
from tasks.runs import write_run
from tests.flows.in_process import called
from tests.flows.own_folder import HOSTILE, own_folder
from tests.flows.study_in_loop import conditions, run_in_loop


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of one's own conversations, beside which the program is started."""
    monkeypatch.chdir(tmp_path)
    return own_folder(tmp_path / "own", questions=False)


ASK = ("ask", "own", "Where does Carla work?", "--history", "../ann")


def test_ask_shows_the_context_and_the_turns_that_it_stands_on(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, *ASK) == 0
    printed = capsys.readouterr().out
    assert "graph-improved, having heard 4 turns of '../ann'" in printed
    assert "sister Carla --[works at]--> Siemens" in printed
    row = next(
        line
        for line in printed.splitlines()
        if "My sister Carla works at Siemens." in line and "ann#1" in line
    )
    assert "2024-05-03" in row
    assert "Ann" in row
    assert "\x1b" not in printed
    assert "\x07" not in printed


def test_ask_as_json_gives_all_of_it_and_buys_nothing_twice(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    replies = []
    for _ in range(2):
        assert called(monkeypatch, *ASK, "--json") == 0
        replies.append(json.loads(capsys.readouterr().out))
    first, second = replies
    assert first["calls"]["made"] > 0
    assert second["calls"]["made"] == 0
    assert {**first, "calls": None} == {**second, "calls": None}
    assert (first["status"], first["condition"], first["history"]) == ("ok", "graph-improved", "../ann")
    assert first["context_tokens"] > 0
    best = first["provenance"][0]
    assert (best["turn"], best["speaker"], best["date"][:10]) == ("../ann#1.0", "Ann", "2024-05-03")
    texts = {turn["text"] for turn in first["provenance"]}
    assert HOSTILE in texts
    assert [path.name for path in own.parent.iterdir() if path.name not in ("own", "results")] == []
    assert [path.name for path in (own.parent / "results").iterdir()] == ["store"]


def test_ask_takes_any_system(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for system in ("flat", "bm25", "none"):
        assert called(monkeypatch, *ASK, "--system", system, "--json") == 0
        assert json.loads(capsys.readouterr().out)["condition"] == system


def test_ask_of_a_run_asks_its_own_memory_and_models(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_in_loop(
        own.parent / "study", data=own, benchmark="own", conditions=conditions("flat", "graph"), resamples=200
    )
    words = ("ask", str(run.folder), "Where does Carla work?", "--history", "../ann", "--json")
    assert called(monkeypatch, *words, "--system", "graph") == 0
    found = json.loads(capsys.readouterr().out)
    assert "Siemens" in found["context"]
    ledger = Ledger(Path(run.run.store))
    calls = ledger.rows(f"ask-{run.run.name}").to_pandas()
    ledger.close()
    assert set(calls[calls["stage"] == "extract"]["outcome"]) == {"replayed"}
    assert called(monkeypatch, *words) == 2
    assert "--system graph:improved: " in (told := capsys.readouterr().err)
    assert "it has flat, graph" in told
    assert called(monkeypatch, *words, "--models", "openai") == 2
    assert "whose models are asked" in capsys.readouterr().err
    explained = run.run.study.model_copy(update={"explain": True})
    write_run(run.folder, run.run.model_copy(update={"study": explained}))
    assert called(monkeypatch, *words, "--system", "flat") == 0
    assert json.loads(capsys.readouterr().out)["condition"] == "flat"


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("own", "Where?"), "--history: which of the 2 histories? There are '../ann', 'zed'"),
        (("own", "Where?", "--history", "x"), "--history: 'x' is none of the 2 histories? There are"),
        (("own", " ", "--history", "zed"), "the question is blank"),
        (
            ("own", "Where?", "--history", "zed", "--date", "May"),
            "--date 'May': a date looks like 2024-05-01",
        ),
        (("own", "Where?", "--history", "zed", "--system", "grph"), "no memory system is named grph"),
        (("nowhere", "Where?"), "nowhere: cannot be read"),
        (
            ("own", "Where?", "--history", "zed", "--budget-calls", "x"),
            "--budget-calls x: give a whole number",
        ),
    ],
)
def test_what_cannot_be_asked_is_one_line(
    own: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    words: tuple[str, ...],
    told: str,
) -> None:
    assert called(monkeypatch, "ask", *words) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1


def test_a_budget_stops_the_asking_and_more_of_it_goes_on(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert called(monkeypatch, *ASK, "--budget-calls", "2") == 5
    told = capsys.readouterr()
    assert "nothing recalled: " in told.err
    assert "budget" in told.err
    assert called(monkeypatch, *ASK) == 0


def test_an_export_is_converted_validated_and_asked(
    own: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "My sister Carla works at Siemens."},
    ]
    Path("chat.json").write_text(json.dumps(messages))
    assert called(monkeypatch, "convert", "chat.json", "--to", "chat") == 0
    assert capsys.readouterr().out == (
        "chat/turns.jsonl: 1 turns in 1 sessions of 1 histories, read from lists of messages; left out: system "
        "messages (1)\n"
    )
    assert called(monkeypatch, "validate", "chat") == 0
    assert "turns       1 (1 distinct)" in capsys.readouterr().out
    assert called(monkeypatch, "ask", "chat", "Where does Carla work?") == 0
    assert "Siemens" in capsys.readouterr().out
