"""Looking into a store: everything whole is found, what is damaged counts as not there, nothing changes."""

from __future__ import annotations

import sqlite3
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from memory.errors import BadInput
from tasks.models.budget import Spent
from tasks.models.holdings import holdings_of, spent_by
from tasks.models.ledger import Entry, Ledger
from tasks.models.providers import RawReply
from tasks.models.store import Store

REPLY = RawReply("hello", "stop", "m", prompt_tokens=3)
ONE, TWO = "1" * 64, "2" * 64


def filled(folder: Path) -> Store:
    store = Store(folder)
    store.keep_replies({ONE: asdict(REPLY)})
    store.keep_vectors([TWO], np.array([[1.0, 2.5]], np.float32))
    return store


def files(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_what_is_bought_is_found_and_the_folder_stays_as_it_is(tmp_path: Path) -> None:
    filled(tmp_path).close()
    before = files(tmp_path)
    with holdings_of(tmp_path) as held:
        assert held.reply(ONE) == REPLY
        assert held.vector(TWO) is not None
        assert np.array_equal(held.vector(TWO), [1.0, 2.5])  # type: ignore[arg-type]
        assert held.reply("3" * 64) is None
        assert held.vector("3" * 64) is None
    assert files(tmp_path) == before


def test_what_another_has_just_bought_is_found_while_it_goes_on_buying(tmp_path: Path) -> None:
    store = filled(tmp_path)
    with holdings_of(tmp_path) as held:
        assert held.reply(TWO.replace("2", "3")) is None
        store.keep_replies({"3" * 64: asdict(REPLY)})
        assert held.reply("3" * 64) == REPLY
    store.close()


def test_a_damaged_entry_and_one_of_the_other_kind_count_as_not_there(tmp_path: Path) -> None:
    filled(tmp_path).close()
    with sqlite3.connect(tmp_path / "cache.db") as database:
        database.execute("UPDATE Cache SET value = replace(value, 'hello', 'other') WHERE key = ?", (ONE,))
    database.close()
    with holdings_of(tmp_path) as held:
        assert held.reply(ONE) is None
        assert held.reply(TWO) is None
        assert held.vector(ONE) is None


def test_a_store_that_is_not_there_holds_nothing_and_is_not_made(tmp_path: Path) -> None:
    with holdings_of(tmp_path / "none") as held:
        assert held.reply(ONE) is None
    assert spent_by(tmp_path / "none", "run") == Spent()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"no database at all" * 100)
    with pytest.raises(BadInput, match=r"cache\.db"), holdings_of(tmp_path):
        pass


def test_what_a_run_has_spent_is_read_by_stage_and_in_all(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    entries = [
        Entry("run", stage, "", f"id {stage}", "openai", "m", "m", "task", 0, 0, "paid", None, 10, 5, 0, 0.25)
        for stage in ("extract", "answer")
    ]
    ledger.enter(entries)
    ledger.close()
    assert spent_by(tmp_path, "run") == Spent(2, 30, 0.5)
    assert spent_by(tmp_path, "run", "answer") == Spent(1, 15, 0.25)
    assert spent_by(tmp_path, "another") == Spent()
