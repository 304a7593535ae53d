"""`palimpsest cache` as a user types it, without a process of its own."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from flows import cli
from tasks.kinds import make_study
from tasks.models.ledger import Entry, Ledger
from tasks.models.store import Store
from tasks.runs import write_run
from tasks.start import start
from tests.tasks.models import damage

IDS = [f"{number:064x}" for number in range(6)]
Shell = Callable[..., tuple[int, str, str]]


def entry(run: str, call_id: str, model: str = "m", task: str = "answer") -> Entry:
    return Entry(run, "answer", "", call_id, "openai", model, model, task, 0, 0, "paid", usd=0.5)


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Five entries: run `a` used the first two, run `b` the second and third; of the last two nothing is known."""
    folder = tmp_path / "store"
    opened, ledger = Store(folder), Ledger(folder)
    opened.keep_replies({call_id: {"text": call_id} for call_id in IDS[:5]})
    ledger.enter([entry("a", IDS[0]), entry("a", IDS[1], task="judge"), entry("b", IDS[1], task="judge")])
    ledger.enter([entry("b", IDS[2], model="n")])
    ledger.close()
    opened.close()
    return folder


@pytest.fixture
def shell(store: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    """Types a command; gives its exit code and what it prints."""

    def type_(*words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("sys.argv", ["palimpsest", "cache", *words, "--store", str(store)])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        printed = capsys.readouterr()
        return int(ended.value.code or 0), printed.out, printed.err

    return type_


def test_ls_tells_entries_by_model_and_task_and_the_runs_that_used_them(shell: Shell) -> None:
    code, out, _ = shell("ls")
    assert code == 0
    assert out.startswith("5 entries, ")
    assert "answer by openai:m: 1 entry" in out
    assert "judge by openai:m: 1 entry" in out
    assert "answer by openai:n: 1 entry" in out
    assert "unknown to the ledger: 2 entries" in out
    assert "run a: 2 entries\nrun b: 2 entries" in out


def test_ls_as_json_adds_up(shell: Shell, store: Path) -> None:
    damage.put(store, IDS[0], "{")
    assert Store(store).reply(IDS[0]) is None
    code, out, _ = shell("ls", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["entries"] == sum(group["entries"] for group in found["groups"]) == 4
    assert found["runs"] == {"a": 1, "b": 2}
    (set_aside,) = found["set_aside"]
    assert (set_aside["key"], set_aside["fault"]) == (IDS[0], "torn JSON")


def test_verify_names_what_is_damaged_and_changes_nothing(shell: Shell, store: Path) -> None:
    assert shell("verify")[:2] == (0, "every entry is whole\n")
    damage.put(store, IDS[3], "{")
    code, out, _ = shell("verify")
    assert code == 1
    assert out == f"{IDS[3]}: torn JSON\n1 damaged\n"
    code, out, _ = shell("verify", "--json")
    assert (code, json.loads(out)) == (1, {"damaged": {IDS[3]: "torn JSON"}})
    assert damage.value_of(store, IDS[3]) == "{"


def test_verify_of_a_damaged_database_says_how_much_of_it_cannot_be_read(shell: Shell, store: Path) -> None:
    opened = Store(store)
    opened.keep_replies({f"{number:064x}": {"text": f"{number} " * 50} for number in range(100, 400)})
    opened.close()
    damage.zero_a_leaf(store, f"{200:064x}")
    code, out, _ = shell("verify")
    assert code == 1
    assert "cache.db" in out
    assert "entries cannot be read" in out


def test_export_and_import_move_everything(
    shell: Shell, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    damage.put(store, IDS[4], "{")
    code, out, error = shell("export", str(tmp_path / "file"))
    assert code == 0
    assert "4 entries and 4 rows of the ledger" in out
    assert f"left out: {IDS[4]}: torn JSON" in error
    code, out, _ = shell("import", str(tmp_path / "file"))
    assert code == 0
    assert "0 of 4 entries and 0 of 4 rows of the ledger were new" in out


def test_import_of_anything_else_is_one_line(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("hello")
    code, _, error = shell("import", str(tmp_path / "file"))
    assert code == 2
    assert error.count("\n") == 1
    assert "is not what an export" in error


def test_prune_by_run_takes_what_no_other_run_used(shell: Shell, store: Path) -> None:
    code, out, _ = shell("prune", "--run", "a", "--dry-run")
    assert (code, out[:20]) == (0, "would remove 1 entry")
    assert len(damage.keys_of(store)) == 5
    code, out, _ = shell("prune", "--run", "a", "--yes")
    assert (code, out[:15]) == (0, "removed 1 entry")
    assert damage.keys_of(store) == IDS[1:5]


def test_prune_asks_and_no_means_no(shell: Shell, store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("typer.confirm", lambda _: False)
    assert shell("prune", "--run", "a")[0] == 0
    assert len(damage.keys_of(store)) == 5


def test_prune_keeps_what_the_runs_of_a_folder_used_and_what_nobody_knows(
    shell: Shell, store: Path, tmp_path: Path
) -> None:
    place, run = start(make_study({}), None, store, tmp_path / "runs" / "one")
    write_run(place, run.model_copy(update={"name": "b", "status": "complete"}))
    code, out, _ = shell("prune", "--unused-in", str(tmp_path / "runs"), "--yes")
    assert (code, out[:15]) == (0, "removed 1 entry")
    assert damage.keys_of(store) == IDS[1:5]


def test_prune_does_not_trust_the_ledger_of_a_run_that_was_killed(
    shell: Shell, store: Path, tmp_path: Path
) -> None:
    start(make_study({}), None, store, tmp_path / "runs" / "one")
    code, _, error = shell("prune", "--unused-in", str(tmp_path / "runs"), "--yes")
    assert code == 2
    assert "was killed" in error
    assert len(damage.keys_of(store)) == 5


def test_prune_by_age_and_by_nothing(shell: Shell, store: Path) -> None:
    assert shell("prune", "--older-than", "1", "--yes")[1].startswith("would remove 0 entries")
    assert shell("prune", "--older-than", "0", "--yes")[1].startswith("removed 5 entries")
    assert damage.keys_of(store) == []
    code, _, error = shell("prune")
    assert code == 2
    assert "say what to remove" in error


def test_no_store_is_one_line_and_none_is_made(
    shell: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for words in (["ls"], ["verify"], ["export", str(tmp_path / "x")], ["prune", "--run", "a"]):
        monkeypatch.setattr("sys.argv", ["palimpsest", "cache", *words, "--store", str(tmp_path / "none")])
        with pytest.raises(SystemExit) as ended:
            cli.main()
        assert ended.value.code == 2
        assert "is no store" in capsys.readouterr().err
    assert not (tmp_path / "none").exists()
    assert not (tmp_path / "x").exists()
