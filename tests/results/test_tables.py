"""Tables on disk are whole or not there, and their content hash sees content alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from results.errors import TornTable
from results.tables import content_hash, read, write, write_bytes, write_parts

SCHEMA = pa.schema({"text": pa.string(), "list": pa.list_(pa.int64()), "flag": pa.bool_()})
TABLE = pa.Table.from_pylist(
    [{"text": "ab" * n if n % 3 else None, "list": [n] * (n % 4), "flag": n % 2 == 0} for n in range(30)],
    schema=SCHEMA,
)


@pytest.mark.parametrize(("start", "rows"), [(1, 7), (3, 10), (8, 9)])
def test_a_slice_hashes_as_the_same_rows_built_anew(start: int, rows: int) -> None:
    part = TABLE.slice(start, rows)
    anew = pa.Table.from_pylist(part.to_pylist(), schema=SCHEMA)
    assert content_hash({"t": part}) == content_hash({"t": anew})


def test_chunks_and_what_lies_under_a_null_are_no_content() -> None:
    pieces = pa.concat_tables([TABLE.slice(0, 3), TABLE.slice(3)])
    assert content_hash({"t": pieces}) == content_hash({"t": TABLE})
    masked = pa.array(np.array([1.0, 2.0]), mask=np.array([False, True]))
    assert content_hash({"t": pa.table({"x": masked})}) == content_hash({"t": pa.table({"x": [1.0, None]})})


def test_a_changed_value_changes_the_hash_but_not_a_volatile_one() -> None:
    first = pa.table({"x": [1, 2], "latency_ms": [0.1, 0.2]})
    assert content_hash({"t": first}) == content_hash({"t": first.set_column(1, "latency_ms", [[9.0, 9.0]])})
    assert content_hash({"t": first}) != content_hash({"t": first.set_column(0, "x", [[1, 3]])})


def test_parts_that_break_off_leave_the_old_file_and_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, TABLE)

    def parts() -> Iterator[pa.Table]:
        yield TABLE
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        write_parts(path, parts())
    assert read(path).equals(TABLE)
    assert list(tmp_path.iterdir()) == [path]
    assert write_parts(path, iter([TABLE, TABLE])) == 60
    assert read(path).num_rows == 60


def test_no_parts_make_no_file(tmp_path: Path) -> None:
    assert write_parts(tmp_path / "t.parquet", iter(())) == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("data", [b"", b"PAR1", b"no parquet at all", b"PAR1" + b"\xff" * 40 + b"PAR1"])
def test_what_is_no_parquet_is_a_torn_table(data: bytes, tmp_path: Path) -> None:
    write_bytes(tmp_path / "t.parquet", data)
    with pytest.raises(TornTable, match=r"t\.parquet"):
        read(tmp_path / "t.parquet")


def test_every_truncation_of_a_table_is_a_torn_table(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, TABLE)
    whole = path.read_bytes()
    for length in range(0, len(whole), 97):
        write_bytes(path, whole[:length])
        with pytest.raises(TornTable):
            read(path, SCHEMA)


def test_a_foreign_table_is_no_table_of_ours(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    write(path, pa.table({"list": ["not", "a", "list"]}))
    with pytest.raises(TornTable, match="remove it"):
        read(path, SCHEMA)
