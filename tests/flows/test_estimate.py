"""The command `estimate`: the options of `run`, a table or JSON, and no call."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import typer

from flows import cli
from tasks.models.ledger import Entry, Ledger
from tests.flows.in_process import called
from tests.flows.study_in_loop import conditions, run_in_loop

Capture = pytest.CaptureFixture[str]
WORDS = ("estimate", "--models", "openai", "--systems", "none,bm25", "--limit", "4")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def as_json(monkeypatch: pytest.MonkeyPatch, capsys: Capture, *words: str) -> dict[str, Any]:
    assert called(monkeypatch, *words, "--json") == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_json_has_a_line_for_each_stage_and_condition_and_their_sum(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, tmp_path: Path
) -> None:
    found = as_json(monkeypatch, capsys, *WORDS)
    places = [(line["stage"], line["condition"]) for line in found["lines"]]
    assert places == [("answer", "none"), ("answer", "bm25"), ("judge", "none"), ("judge", "bm25")]
    assert found["lines"][0]["calls"] == {"low": 4, "high": 5}
    for end in ("low", "high"):
        assert found["all"]["usd"][end] == pytest.approx(sum(line["usd"][end] for line in found["lines"]))
    assert found["prices_as_of"] == "2025-01"
    assert list(tmp_path.iterdir()) == []


def test_the_table_names_what_is_bought_and_the_date_of_the_prices(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    assert called(monkeypatch, *WORDS, "--answerer", "openai:gpt-9") == 0
    printed = capsys.readouterr().out
    for words in (
        "bm25",
        "gpt-4o-mini",
        "unknown",
        "prices as of 2025-01",
        "no price is known for openai:gpt-9",
    ):
        assert words in printed
    assert "…" not in printed


@pytest.mark.parametrize(
    ("amount", "verdict"),
    [
        (("--budget-calls", "100"), "the budget of 100 calls covers the high estimate"),
        (("--budget-calls", "15"), "the budget of 15 calls covers the low estimate, not the high one"),
        (("--budget-calls", "+3"), "the budget of 3 calls does not cover the low estimate"),
        (("--budget-usd", "answer=5"), "the budget of stage answer of $5.0000 covers the high estimate"),
        (("--budget-tokens", "1000"), "the budget of 1,000 tokens does not cover the low estimate"),
    ],
)
def test_it_says_whether_a_budget_would_do(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, amount: tuple[str, str], verdict: str
) -> None:
    remarks = as_json(monkeypatch, capsys, *WORDS, *amount)["remarks"]
    assert remarks[-1].startswith(verdict)


def test_a_budget_counts_what_the_run_has_spent(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    run = as_json(monkeypatch, capsys, *WORDS)["run"]
    ledger = Ledger(Path("results/store"))
    spent = Entry(
        run, "answer", "none", "1", "openai", "m", "m", "answer", 0, 0, "unusable", None, 10, 5, 0, 1.5
    )
    ledger.enter([spent])
    ledger.close()
    remarks = as_json(monkeypatch, capsys, *WORDS, "--budget-usd", "1", "--budget-usd", "judge=1")["remarks"]
    assert remarks[-2].startswith(
        "the budget of $1.0000, of which $1.5000 are spent, does not cover the low estimate"
    )
    assert remarks[-1].startswith("the budget of stage judge of $1.0000 covers the high estimate")
    more = as_json(monkeypatch, capsys, *WORDS, "--budget-usd", "+1")["remarks"]
    assert more[-1].startswith("the budget of $2.5000, of which $1.5000 are spent, covers the high estimate")


def test_a_complete_run_is_said_to_be_and_its_folder_is_refused_to_another(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    run_in_loop(Path(), conditions=conditions("none", "bm25"), limit=4)
    words = ("estimate", "--store", "store", "--out", "run", "--systems", "none,bm25", "--limit")
    again = as_json(monkeypatch, capsys, *words, "4", "--budget-calls", "20")
    assert again["complete"]
    assert again["remarks"] == ["the run is complete: nothing is left to buy"]
    assert called(monkeypatch, *words, "5") == 2
    assert "another run" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--benchmark", "nonsense"], "nonsense"),
        (["--budget-usd", "1", "--answerer", "openai:gpt-9"], "gpt-9"),
        (["--budget-usd", "much"], "--budget-usd"),
        (["--budget-calls", "nonsense=3"], "nonsense"),
        (["--histories", "0"], "--histories"),
    ],
)
def test_what_run_refuses_is_refused(
    monkeypatch: pytest.MonkeyPatch, capsys: Capture, words: list[str], named: str
) -> None:
    assert called(monkeypatch, "estimate", *words) == 2
    assert named in capsys.readouterr().err


def test_both_commands_take_the_same_options() -> None:
    commands = typer.main.get_command(cli.app).commands  # type: ignore[attr-defined]
    run, estimate = ([option.name for option in commands[name].params] for name in ("run", "estimate"))
    assert estimate == [*run, "histories", "json"]
