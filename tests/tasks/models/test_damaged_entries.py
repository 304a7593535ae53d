"""A damaged entry is set aside whole, never used, remembered, and replaced only by what is bought again."""

from __future__ import annotations

import base64
import json
import os
import sqlite3
import stat
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import BadInput, CallFailed, CallRefused
from tasks.models import store_rows
from tasks.models.entries import BrokenEntry, reply_of, reply_text, vector_bytes, vector_of
from tasks.models.store import Store
from tests.tasks.models import damage

REPLY = {"text": "fine", "finish_reason": "stop", "model": "m", "prompt_tokens": 7, "refusal": None}
VECTOR = np.array([1.0, -2.5, 0.125], np.float32)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    store = Store(tmp_path / "store")
    store.keep_replies({"id": REPLY, "other": REPLY})
    store.keep_vectors(["v", "w"], np.stack([VECTOR, VECTOR]))
    return store


@given(st.dictionaries(st.text().filter(lambda name: name != "checksum"), JSON, max_size=4))
def test_any_record_comes_back(record: dict[str, Any]) -> None:
    assert reply_of(reply_text(record)) == record


def test_a_reply_of_an_older_version_has_no_checksum_and_is_read() -> None:
    assert reply_of(json.dumps(REPLY, ensure_ascii=True)) == REPLY


def test_a_vector_of_an_older_version_has_no_checksum_and_is_read() -> None:
    old = np.array([3], "<u4").tobytes() + VECTOR.astype("<f4").tobytes()
    assert vector_of(old).tobytes() == VECTOR.tobytes()


def test_any_one_flipped_bit_of_a_reply_is_seen() -> None:
    whole = reply_text(REPLY).encode()
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BrokenEntry):
            reply_of(flipped.decode("latin-1"))


def test_any_one_flipped_bit_of_a_vector_is_seen() -> None:
    whole = vector_bytes(VECTOR)
    for bit in range(8 * len(whole)):
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        with pytest.raises(BrokenEntry):
            vector_of(bytes(flipped))


@settings(max_examples=60)
@given(st.data())
def test_any_truncation_is_seen(data: st.DataObject) -> None:
    text, vector = reply_text(REPLY), vector_bytes(VECTOR)
    with pytest.raises(BrokenEntry):
        reply_of(text[: data.draw(st.integers(0, len(text) - 1))])
    with pytest.raises(BrokenEntry):
        vector_of(vector[: data.draw(st.integers(0, len(vector) - 1))])


@given(st.text() | st.binary())
def test_nothing_else_than_an_entry_is_read_as_one(value: str | bytes) -> None:
    for read in (reply_of, vector_of):
        with pytest.raises(BrokenEntry):
            read(value)


REPLIES = {
    "torn JSON": reply_text(REPLY)[:20],
    "checksum": reply_text(REPLY).replace("fine", "fins"),
    "wrong type": 7,
    "its JSON is no object": "[1]",
    "no reply": vector_bytes(VECTOR),
    "not written by this program": '{"text":"x"}',
}
VECTORS = {
    "wrong length": vector_bytes(VECTOR)[:-3],
    "checksum": vector_bytes(VECTOR)[:-5] + b"\0" + vector_bytes(VECTOR)[-4:],
    "wrong type": 1.5,
    "no vector": reply_text(REPLY),
}


@pytest.mark.parametrize("fault", REPLIES)
def test_a_damaged_reply_is_set_aside_with_its_reason_and_others_are_not_touched(
    store: Store, fault: str
) -> None:
    damage.put(store.folder, "id", REPLIES[fault])
    assert store.reply("id") is None
    assert store.reply("other") == REPLY
    refusals = store.refusals(["id", "other", "missing"])
    assert list(refusals) == ["id"]
    assert fault in str(refusals["id"])
    assert "store entry id is damaged" in str(refusals["id"])
    assert "--repair buys it again" in str(refusals["id"])
    assert isinstance(refusals["id"], CallFailed)
    assert not refusals["id"].final


@pytest.mark.parametrize("fault", VECTORS)
def test_a_damaged_vector_is_set_aside_with_its_reason_and_others_are_not_touched(
    store: Store, fault: str
) -> None:
    damage.put(store.folder, "v", VECTORS[fault])
    assert list(store.vectors(["v", "w"])) == ["w"]
    assert fault in str(store.refusals(["v"])["v"])


def test_what_is_set_aside_is_kept_whole_and_private(store: Store) -> None:
    damage.put(store.folder, "id", b"\xff\x00 any bytes")
    assert store.reply("id") is None
    (file,) = (store.folder / "quarantine").iterdir()
    kept = json.loads(file.read_text())
    assert kept["key"] == "id"
    assert base64.b64decode(kept["bytes"]) == b"\xff\x00 any bytes"
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    assert damage.value_of(store.folder, "id") is None


def test_text_that_is_no_utf_8_is_one_damaged_entry_and_no_broken_store(store: Store) -> None:
    damage.put_text(store.folder, "id", b'{"text": "\xff"}')
    assert store.reply("id") is None
    assert "UTF-8" in str(store.refusals(["id"])["id"])


def test_quarantine_is_remembered_until_the_call_is_kept_anew(store: Store) -> None:
    damage.put(store.folder, "id", "{")
    assert store.reply("id") is None
    store.close()
    again = Store(store.folder)
    assert again.reply("id") is None
    assert list(again.refusals(["id"])) == ["id"]
    again.keep_replies({"id": REPLY})
    assert again.reply("id") == REPLY
    assert again.refusals(["id"]) == {}
    assert len(list((store.folder / "quarantine").iterdir())) == 1, "the evidence stays"


def test_a_torn_file_in_quarantine_still_forbids(store: Store) -> None:
    damage.put(store.folder, "id", "{")
    assert store.reply("id") is None
    (file,) = (store.folder / "quarantine").iterdir()
    os.truncate(file, 10)
    assert "torn, too" in str(store.refusals(["id"])["id"])


def test_a_reply_that_its_reader_cannot_use_is_damaged(store: Store) -> None:
    def read(record: dict[str, Any]) -> str:
        raise ValueError("a secret of the record")

    assert store.read_reply("id", read) is None
    assert "not what such a call gives" in str(store.refusals(["id"])["id"])


def test_whoever_finds_damage_does_not_take_away_what_another_has_put_in_its_place(store: Store) -> None:
    def read(record: dict[str, Any]) -> dict[str, Any]:
        if record == REPLY:  # another process repairs between our reading and our setting aside
            Store(store.folder).keep_replies({"id": {"text": "bought anew"}})
            raise ValueError
        return record

    assert store.read_reply("id", read) is None
    assert store.reply("id") == {"text": "bought anew"}
    assert store.refusals(["id"]) == {}


def test_a_key_that_is_a_path_names_no_file_outside(store: Store) -> None:
    with closing(sqlite3.connect(store.folder / "cache.db")) as database, database:
        database.execute("UPDATE Cache SET key = '../../escape', value = '{' WHERE key = 'id'")
    assert store.reply("../../escape") is None
    assert list(store.refusals(["../../escape"])) == ["../../escape"]
    assert [file.name for file in store.folder.parent.iterdir()] == ["store"]


def test_a_file_that_is_no_database_is_one_line_with_its_name_and_the_remedy(tmp_path: Path) -> None:
    (tmp_path / "cache.db").write_bytes(b"this is not SQLite" * 100)
    with pytest.raises(BadInput, match=r"cache\.db is damaged .*cache export") as error:
        Store(tmp_path)
    assert "\n" not in str(error.value)


def test_a_page_of_zeros_is_one_line_and_the_other_entries_are_still_read(tmp_path: Path) -> None:
    store = Store(tmp_path / "store")
    ids = [f"{number:064x}" for number in range(300)]
    for call_id in ids:
        store.keep_replies({call_id: {"text": f"{call_id} " * 8}})
    store.close()
    damage.zero_a_leaf(store.folder, ids[150])
    with pytest.raises(BadInput, match=r"cache\.db is damaged .*cache export"):
        Store(store.folder).reply(ids[150])
    with store_rows.reading(store.folder) as connection:
        read = {row.name for row in store_rows.rows(connection) if row.fault() is None}
    assert ids[150] not in read
    assert len(read) >= 280


def test_a_clock_that_jumps_either_way_loses_no_entry(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Store(tmp_path / "store")
    for number, now in enumerate([2e9, 0.0, 4e9, 1.0]):
        monkeypatch.setattr("time.time", lambda now=now: now)
        store.keep_replies({f"id{number}": {"n": number}})
        assert [store.reply(f"id{n}") for n in range(number + 1)] == [{"n": n} for n in range(number + 1)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_that_may_not_be_written_is_one_clear_line(store: Store) -> None:
    store.close()
    (store.folder / "cache.db").chmod(0o400)
    with pytest.raises(BadInput, match=r"cache\.db cannot be written"):
        Store(store.folder).keep_replies({"new": REPLY})


def test_a_full_disk_refuses_the_call_and_keeps_what_was_bought(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(sqlite3.connect(store.folder / "cache.db")) as database:
        (pages,) = database.execute("PRAGMA page_count").fetchone()
    store._cache._sql(f"PRAGMA max_page_count = {pages}")  # SQLite then says what it says on a full disk
    with pytest.raises(CallRefused, match=r"cache\.db cannot be written .*full.*make room .*is kept"):
        store.keep_replies({"new": {"text": "x" * 100_000}})
    assert store.reply("id") == REPLY
    assert store.reply("new") is None
