"""The store keeps what was bought, gives it back bit by bit, and runs nothing that it finds."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import re
import sqlite3
import stat
from pathlib import Path
from typing import Any

import diskcache
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as np_st

from memory.errors import BadInput
from tasks.models.store import Store


class Bomb:
    """Unpickling it makes a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.path),)


def plant(folder: Path, key: Any, raw: int, mode: int, value: Any, filename: str | None = None) -> None:
    Store(folder).close()
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute(
            "INSERT INTO Cache (key, raw, store_time, access_time, mode, filename, value)"
            " VALUES (?, ?, 0, 0, ?, ?, ?)",
            (key, raw, mode, filename, value),
        )
    database.close()


def test_a_pickled_value_is_refused_and_does_not_run(tmp_path: Path) -> None:
    plant(tmp_path / "s", "id", 1, 4, pickle.dumps(Bomb(tmp_path / "boom")))
    store = Store(tmp_path / "s")
    assert store.reply("id") is None
    assert store.vectors(["id"]) == {}
    assert "a pickled value" in str(store.refusals(["id"])["id"])
    assert not (tmp_path / "boom").exists()
    # The same entry does run where the cache is opened as diskcache does by default.
    plant(tmp_path / "s", "id", 1, 4, pickle.dumps(Bomb(tmp_path / "boom")))
    diskcache.Cache(str(tmp_path / "s"), disk=diskcache.Disk).get("id")
    assert (tmp_path / "boom").exists()


def test_a_pickled_key_is_refused_and_does_not_run(tmp_path: Path) -> None:
    plant(tmp_path / "s", pickle.dumps(Bomb(tmp_path / "boom")), 0, 1, "{}")
    with pytest.raises(BadInput, match="pickled key"):
        list(Store(tmp_path / "s")._cache)
    assert not (tmp_path / "boom").exists()


@pytest.mark.parametrize("mode", [2, 3, 4])
def test_a_reference_to_a_file_is_neither_read_nor_deleted(tmp_path: Path, mode: int) -> None:
    (tmp_path / "secret").write_text('{"text": "secret"}')
    plant(tmp_path / "s", "id", 1, mode, None, filename="../secret")
    store = Store(tmp_path / "s")
    assert store.reply("id") is None
    assert re.search(r"reference to a file|pickled", str(store.refusals(["id"])["id"]))
    plant(tmp_path / "s", "id", 1, mode, None, filename="../secret")
    with pytest.raises(BadInput, match="reference to a file"):
        store.keep_replies({"id": {"text": "new"}})
    assert (tmp_path / "secret").exists()


def test_the_folder_is_private(tmp_path: Path) -> None:
    (tmp_path / "s").mkdir(mode=0o755)
    Store(tmp_path / "s")
    assert stat.S_IMODE((tmp_path / "s").stat().st_mode) == 0o700


def test_nothing_is_evicted_beyond_diskcaches_own_limit(tmp_path: Path) -> None:
    diskcache.Cache(
        str(tmp_path / "s"), size_limit=1000, cull_limit=10, eviction_policy="least-recently-used"
    )
    store = Store(tmp_path / "s")
    for start in range(0, 1000, 100):
        store.keep_replies({f"id{i}": {"text": "x" * 1000} for i in range(start, start + 100)})
    assert all(store.reply(f"id{i}") for i in range(1000))


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Store:
    return Store(tmp_path_factory.mktemp("store"))


@settings(deadline=None, max_examples=40)
@given(np_st.arrays(np.float32, st.tuples(st.integers(1, 5), st.integers(1, 9))))
def test_vectors_come_back_bit_by_bit(shared: Store, rows: Any) -> None:
    ids = [f"v{i}" for i in range(len(rows))]
    shared.keep_vectors(ids, rows)
    found = shared.vectors([*ids, "missing"])
    assert list(found) == ids
    assert np.stack([found[i] for i in ids]).tobytes() == rows.tobytes()


def test_any_text_comes_back(tmp_path: Path) -> None:
    store = Store(tmp_path)
    record = {"text": "é 😀 \ud800 \x00 ' -- \n", "n": None}
    store.keep_replies({"id": record})
    assert store.reply("id") == record


def _keep(folder: Path, start: int) -> None:
    store = Store(folder)
    for i in range(start, start + 20):
        store.keep_replies({f"id{i}": {"n": i}})


def test_several_processes_may_write_at_once(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    writers = [spawn.Process(target=_keep, args=(tmp_path, start)) for start in (0, 20)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    store = Store(tmp_path)
    assert all(store.reply(f"id{i}") == {"n": i} for i in range(40))
