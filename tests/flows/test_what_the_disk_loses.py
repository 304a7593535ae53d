"""Whatever the disk loses of a run or of the store, the next run gives the tables of an undisturbed one.

It names what was damaged, and pays again for nothing, or with `repair` for exactly what is gone.
"""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from results import tables
from tasks.kinds import make_study
from tasks.models.catalogue import BUNDLES
from tasks.models.store_transfer import export_store, import_store
from tasks.start import find_complete, prepare
from tests.flows.fake_llm import in_the_place_of_providers
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models import damage
from tests.tasks.models.fakes import FakeServer

STUDY: dict[str, Any] = {
    "conditions": conditions("flat", "graph", "bm25"),
    "models": BUNDLES["published"].model_dump(),
    "limit": 4,
    "resamples": 100,
}


def said(folder: Path) -> dict[str, str]:
    """What a run's tables say, as hashes; the ledger's tables tell how it went, and so are left out."""
    found = {}
    for file in sorted(folder.rglob("*.parquet")):
        name = file.relative_to(folder).as_posix()
        if not name.startswith(("parts/", "quarantine/", "calls", "pace")):
            found[name] = tables.content_hash({name: tables.read(file)})
    return found


@pytest.fixture(scope="module")
def server() -> Iterator[FakeServer]:
    with pytest.MonkeyPatch.context() as patch, in_the_place_of_providers(patch) as fake:
        yield fake


@pytest.fixture(scope="module")
def undisturbed(server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """What the tables of a run on a store of its own say."""
    run = run_in_loop(tmp_path_factory.mktemp("undisturbed"), **STUDY)
    assert run.run.status == "complete"
    return said(run.folder)


@pytest.fixture(scope="module")
def first(server: FakeServer, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    """A complete run on another store, to copy and to damage."""
    return run_in_loop(tmp_path_factory.mktemp("first"), **STUDY)


@pytest.fixture
def base(first: Watched, tmp_path: Path) -> Path:
    """A copy of the first run's folder and store."""
    return Path(shutil.copytree(first.folder.parent, tmp_path / "copy"))


def forget_parts(base: Path) -> None:
    """As if the run had been killed before its first part: only the store keeps it from paying again."""
    shutil.rmtree(base / "run" / "parts")


def key_of(first: Watched, task: str) -> str:
    """The id of one of the run's calls of a kind."""
    calls = first.table("calls")
    paid = calls[(calls.task == task) & (calls.outcome == "paid")]
    return str(sorted(paid.call_id)[0])


def test_two_undisturbed_runs_say_the_same(undisturbed: dict[str, str], first: Watched) -> None:
    assert said(first.folder) == undisturbed
    assert {"metrics.parquet", "answers.parquet", "table_7.parquet"} <= set(undisturbed)


def flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0x40
    file.write_bytes(bytes(data))


def truncate(file: Path) -> None:
    os.truncate(file, file.stat().st_size // 2)


@pytest.mark.parametrize("harm", [flip, truncate, Path.unlink])
@pytest.mark.parametrize(
    "pattern", ["extract/*.parquet", "merge/*.nodes.*.parquet", "judge/*.json", "load/*.json"]
)
def test_a_damaged_part_is_made_again_at_no_cost(
    pattern: str,
    harm: Callable[[Path], None],
    base: Path,
    server: FakeServer,
    undisturbed: dict[str, str],
) -> None:
    part = sorted((base / "run" / "parts").glob(pattern))[0]
    harm(part)
    sent = server.count()
    again = run_in_loop(base, **STUDY)
    assert again.run.status == "complete"
    assert server.count() == sent
    assert said(again.folder) == undisturbed
    lost_manifest = (
        harm is Path.unlink and part.suffix == ".json"
    )  # nobody can tell that from a part never made
    assert any(part.name in note for note in again.run.notes) != lost_manifest


@pytest.mark.parametrize("harm", [flip, truncate, Path.unlink])
@pytest.mark.parametrize("table", ["metrics", "graphs/graph/nodes"])
def test_a_damaged_table_of_a_complete_run_is_published_again(
    table: str, harm: Callable[[Path], None], base: Path, server: FakeServer, undisturbed: dict[str, str]
) -> None:
    folder, run = prepare(make_study(STUDY), None, base / "store", base / "run")
    assert find_complete(folder, run)
    harm(folder / f"{table}.parquet")
    assert not find_complete(folder, run)
    sent = server.count()
    again = run_in_loop(base, **STUDY)
    assert again.made_stages == []
    assert said(folder) == undisturbed
    assert server.count() == sent
    assert any(f"{table}.parquet was damaged" in note for note in again.run.notes)
    assert find_complete(folder, run)


def altered(value: Any) -> Any:
    return value.replace('"text":"', '"text":"not ') if isinstance(value, str) else value[:-1] + b"~"


DAMAGE: dict[str, tuple[str, Callable[[Any], Any], str]] = {
    "extract": ("extractions", lambda value: value[: len(value) // 2], "torn JSON"),
    "query_entities": ("recalls", lambda value: value.encode(), "wrong type"),
    "answer": ("answers", lambda value: None, "wrong type"),
    "judge": ("verdicts", altered, "checksum"),
    "embed": ("recalls", lambda value: value[:-9], "wrong length"),
}


@pytest.mark.parametrize("task", DAMAGE)
def test_a_damaged_entry_is_a_pending_row_and_bought_again_only_with_repair(
    task: str, base: Path, first: Watched, server: FakeServer, undisturbed: dict[str, str]
) -> None:
    table, harm, fault = DAMAGE[task]
    key = key_of(first, task)
    damage.put(base / "store", key, harm(damage.value_of(base / "store", key)))
    forget_parts(base)
    sent = server.count()
    for _ in range(2):  # what was set aside is remembered
        found = run_in_loop(base, **STUDY)
        assert found.run.status == "incomplete"
        assert "lost to damage, --repair buys them again" in found.run.reason
        rows = found.table(table)
        reasons = " ".join(rows[rows.status == "failed"].reason)
        assert f"store entry {key[:12]} is damaged ({fault}" in reasons
        assert server.count() == sent
    if task == "answer":
        assert len(rows[rows.status == "failed"]) == 1
        assert (rows.status == "ok").sum() == 11
    mended = run_in_loop(base, **STUDY, repair=True)
    assert mended.run.status == "complete"
    assert server.count() == sent + 1
    assert said(mended.folder) == undisturbed
    assert run_in_loop(base, **STUDY).made_stages == []


def test_a_damaged_part_whose_calls_the_store_has_lost_is_bought_again_only_with_repair(
    base: Path, server: FakeServer, undisturbed: dict[str, str]
) -> None:
    truncate(next((base / "run" / "parts" / "answer").glob("bm25*.parquet")))
    shutil.rmtree(base / "store")
    sent = server.count()
    for _ in range(2):
        found = run_in_loop(base, **STUDY)
        assert found.run.status == "incomplete"
        answers = found.table("answers")
        failed = answers[answers.status == "failed"]
        assert list(failed.condition.unique()) == ["bm25"]
        assert failed.reason.str.contains("is lost, too; --repair buys it again").all()
        assert server.count() == sent
    mended = run_in_loop(base, **STUDY, repair=True)
    assert mended.run.status == "complete"
    assert server.count() == sent + 4
    assert said(mended.folder) == undisturbed


def test_a_store_that_was_taken_to_another_machine_replays_the_study(
    base: Path, server: FakeServer, undisturbed: dict[str, str], tmp_path: Path
) -> None:
    export_store(base / "store", tmp_path / "file")
    import_store(tmp_path / "file", tmp_path / "there" / "store")
    sent = server.count()
    there = run_in_loop(tmp_path / "there", **STUDY)
    assert there.run.status == "complete"
    assert server.count() == sent
    assert said(there.folder) == undisturbed
    export_store(tmp_path / "there" / "store", tmp_path / "back")
    assert import_store(tmp_path / "back", base / "store").new_entries == 0


def test_a_clock_that_jumps_both_ways_changes_nothing(
    server: FakeServer,
    undisturbed: dict[str, str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real, rng = time.time, random.Random(7)
    monkeypatch.setattr("time.time", lambda: real() + rng.choice([-9e8, -3600.0, 0.0, 3600.0, 9e8]))
    sent = server.count()
    run = run_in_loop(tmp_path, **STUDY)
    assert run.run.status == "complete"
    assert said(run.folder) == undisturbed
    paid = server.count() - sent
    forget_parts(tmp_path)
    assert said(run_in_loop(tmp_path, **STUDY).folder) == undisturbed
    assert server.count() == sent + paid, "nothing expires"
