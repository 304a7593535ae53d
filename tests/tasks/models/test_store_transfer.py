"""A store travels as one file: what comes out is what went in; nothing is kept of one that is not whole."""

from __future__ import annotations

import json
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from memory.errors import BadInput
from tasks.models.ledger import Entry, Ledger
from tasks.models.store import Store
from tasks.models.store_file import read_store_file
from tasks.models.store_transfer import Imported, export_store, import_store
from tests.tasks.models import damage

IDS = [f"{number:064x}" for number in range(40)]
ROWS = np.arange(20, dtype=np.float32).reshape(5, 4)


def entry(number: int, **more: Any) -> Entry:
    return Entry(
        "run", "answer", "", IDS[number], "openai", "m", "m", "answer", 0, 0, "paid", usd=0.25, **more
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A store with 35 replies, 5 vectors and 40 rows of ledger."""
    folder = tmp_path / "there"
    store, ledger = Store(folder), Ledger(folder)
    store.keep_replies({call_id: {"text": f"é \ud800 {call_id}"} for call_id in IDS[:35]})
    store.keep_vectors(IDS[35:], ROWS)
    ledger.enter([entry(number, flags=("model_differs", "x")) for number in range(40)])
    ledger.close()
    store.close()
    return folder


def lines_of(file: Path) -> list[bytes]:
    with pa.input_stream(str(file), compression="zstd") as stream:
        return bytes(stream.read()).splitlines(keepends=True)


def write_lines(file: Path, lines: list[bytes]) -> None:
    with pa.output_stream(str(file), compression="zstd") as stream:
        stream.write(b"".join(lines))


def test_everything_comes_back_bit_by_bit(folder: Path, tmp_path: Path) -> None:
    done = export_store(folder, tmp_path / "file")
    assert (done.entries, done.rows, done.damaged, done.unread) == (40, 40, {}, 0)
    assert import_store(tmp_path / "file", tmp_path / "here") == Imported(40, 40, 40, 40)
    assert damage.keys_of(tmp_path / "here") == damage.keys_of(folder)
    for key in IDS:
        assert damage.value_of(tmp_path / "here", key) == damage.value_of(folder, key)
    here, there = Ledger(tmp_path / "here"), Ledger(folder)
    assert here.rows("run").equals(there.rows("run"))
    assert here.spent("run") == there.spent("run")


def test_a_second_import_adds_nothing_and_a_later_export_adds_what_is_new(
    folder: Path, tmp_path: Path
) -> None:
    export_store(folder, tmp_path / "first")
    import_store(tmp_path / "first", tmp_path / "here")
    assert import_store(tmp_path / "first", tmp_path / "here") == Imported(40, 0, 40, 0)
    store, ledger = Store(folder), Ledger(folder)
    store.keep_replies({"f" * 64: {"text": "new"}})
    ledger.enter([entry(1), entry(2)])
    ledger.close()
    store.close()
    export_store(folder, tmp_path / "second")
    assert import_store(tmp_path / "second", tmp_path / "here") == Imported(41, 1, 42, 2)


def test_entries_that_are_there_are_kept_and_damaged_ones_are_replaced(folder: Path, tmp_path: Path) -> None:
    export_store(folder, tmp_path / "file")
    here = Store(tmp_path / "here")
    here.keep_replies({IDS[0]: {"text": "mine"}, IDS[1]: {"text": "mine"}})
    damage.put(here.folder, IDS[1], "{torn")
    assert here.reply(IDS[1]) is None
    assert list(here.refusals([IDS[1]])) == [IDS[1]]
    assert import_store(tmp_path / "file", here.folder).new_entries == 39
    assert here.reply(IDS[0]) == {"text": "mine"}
    assert here.reply(IDS[1]) == {"text": f"é \ud800 {IDS[1]}"}
    assert here.refusals([IDS[1]]) == {}


def test_damaged_entries_stay_behind_by_name(folder: Path, tmp_path: Path) -> None:
    damage.put(folder, IDS[3], "{torn")
    damage.put(folder, IDS[36], b"xx")
    done = export_store(folder, tmp_path / "file")
    assert done.entries == 38
    assert done.damaged == {IDS[3]: "torn JSON", IDS[36]: "wrong length"}
    assert damage.value_of(folder, IDS[3]) == "{torn", "an export changes nothing"


def test_what_can_be_read_of_a_damaged_database_is_saved_and_the_rest_is_counted(tmp_path: Path) -> None:
    store = Store(tmp_path / "there")
    ids = [f"{number:064x}" for number in range(300)]
    for call_id in ids:
        store.keep_replies({call_id: {"text": f"{call_id} " * 8}})
    store.close()
    damage.zero_a_leaf(store.folder, ids[150])
    done = export_store(store.folder, tmp_path / "file")
    assert done.unread > 0
    assert done.entries + done.unread == 300
    saved = import_store(tmp_path / "file", tmp_path / "here")
    assert saved.new_entries == done.entries >= 280


def test_a_torn_ledger_does_not_keep_the_entries_back(folder: Path, tmp_path: Path) -> None:
    (folder / "ledger.sqlite").write_bytes(b"no database" * 1000)
    done = export_store(folder, tmp_path / "file")
    assert (done.entries, done.rows) == (40, 0)
    assert "ledger.sqlite" in done.ledger_fault
    assert import_store(tmp_path / "file", tmp_path / "here").new_entries == 40


def test_the_file_is_private_names_no_path_and_is_not_written_over(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "file"
    export_store(folder, file)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert str(tmp_path).encode() not in b"".join(lines_of(file))
    with pytest.raises(BadInput, match="exists"):
        export_store(folder, file)


def test_a_folder_that_is_no_store_is_one_line_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(BadInput, match="is no store"):
        export_store(tmp_path / "empty", tmp_path / "file")
    assert list(tmp_path.rglob("*")) == [tmp_path / "empty"]


def replaced(number: int, **fields: Any) -> Callable[[list[bytes]], list[bytes]]:
    def change(lines: list[bytes]) -> list[bytes]:
        line = {**json.loads(lines[number]), **fields}
        return [*lines[:number], json.dumps(line).encode() + b"\n", *lines[number + 1 :]]

    return change


def with_call(**fields: Any) -> Callable[[list[bytes]], list[bytes]]:
    def change(lines: list[bytes]) -> list[bytes]:
        call = {**json.loads(lines[41])["call"], **fields}
        return replaced(41, call=call)(lines)

    return change


HOSTILE: dict[str, tuple[Callable[[list[bytes]], list[bytes]], str]] = {
    "cut short": (lambda lines: lines[:-1], "ends too early"),
    "cut in a line": (lambda lines: [*lines[:9], lines[9][:20]], "too long, or cut short"),
    "a line left out": (lambda lines: lines[:5] + lines[6:], "counts or its checksum"),
    "two lines swapped": (lambda lines: [*lines[:5], lines[6], lines[5], *lines[7:]], "checksum"),
    "more after the end": (lambda lines: [*lines, b"{}\n"], "counts or its checksum"),
    "an altered reply": (replaced(2, reply='{"checksum":"x","text":"y"}'), "line 3 .*damaged entry"),
    "a reply that is no text": (replaced(2, reply={"text": "y"}), "line 3"),
    "an altered vector": (replaced(38, vector="AAAA"), "line 39 .*damaged entry"),
    "a vector in no base64": (replaced(38, vector="*"), "line 39"),
    "an id that is a path": (replaced(2, id="../../etc/passwd"), "line 3 .*no call id"),
    "an id in capitals": (replaced(2, id="A" * 64), "line 3 .*no call id"),
    "no export at all": (lambda lines: [b'{"any": "json"}\n'], "line 1 .*does not begin"),
    "a later version": (replaced(0, version=2), "line 1 .*does not begin"),
    "an array": (lambda lines: [lines[0], b"[1]\n", *lines[1:]], "line 2"),
    "deep nesting": (lambda lines: [lines[0], b"[" * 200_000 + b"\n"], "line 2"),
    "a negative price": (with_call(charged_usd=-100.0), "line 42 .*an amount"),
    "a price that is no number": (with_call(charged_usd="free"), "line 42 .*another shape"),
    "an outcome that is none": (with_call(outcome="free"), "line 42 .*another shape"),
    "a time that is none": (with_call(time=float("nan")), "line 42"),
    "a column of another table": (with_call(process=None), "line 42"),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_nothing_is_kept_of_a_file_that_is_not_whole(what: str, folder: Path, tmp_path: Path) -> None:
    change, message = HOSTILE[what]
    export_store(folder, tmp_path / "file")
    write_lines(tmp_path / "hostile", change(lines_of(tmp_path / "file")))
    with pytest.raises(BadInput, match=message) as refused:
        import_store(tmp_path / "hostile", tmp_path / "here")
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "here").exists()


def test_bytes_that_are_no_zstd_are_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"\x80\x04cos\nsystem\n" * 10)
    with pytest.raises(BadInput, match="no zstd"):
        import_store(tmp_path / "file", tmp_path / "here")


def test_a_line_that_never_ends_is_refused_before_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tasks.models.store_file._LONGEST_LINE", 2**16)
    write_lines(tmp_path / "file", [b" " * 2**24])
    assert (tmp_path / "file").stat().st_size < 2**16, "a small file that becomes a large line"
    with pytest.raises(BadInput, match="too long"):
        list(read_store_file(tmp_path / "file"))


def test_a_key_that_is_no_call_id_does_not_travel(folder: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        database.execute("UPDATE Cache SET key = '../x' WHERE key = ?", (IDS[0],))
    assert export_store(folder, tmp_path / "file").damaged == {"../x": "its key is no call id"}
