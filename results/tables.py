"""Reading and writing tables on disk: whole or not there, versioned, hashed."""

from __future__ import annotations

import errno
import hashlib
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from results.errors import DiskFull, TornTable
from results.schemas import VERSION, VOLATILE

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""What the system says of a full disk, a used-up quota, and a file beyond the most that it allows."""

_VERSION_KEY = b"palimpsest.schema_version"


def from_rows(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """A table of rows; a row without a column has null there.

    Raises:
        KeyError: If a row has a column that the schema lacks.
    """
    unknown = {name for row in rows for name in row} - set(schema.names)
    if unknown:
        raise KeyError(f"columns {sorted(unknown)} are not in the schema")
    return pa.Table.from_pylist([dict(row) for row in rows], schema=schema)


def content_hash(tables: Mapping[str, pa.Table]) -> str:
    """Hash of what the tables say, volatile columns apart; equal for equal content however it is chunked."""
    digest = hashlib.sha256()
    for name in sorted(tables):
        table = tables[name].select([c for c in tables[name].column_names if c not in VOLATILE])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, table.schema.remove_metadata()) as writer:
            if table.num_rows:
                # Taking every row writes fresh buffers: slices, and what lies under a null, are not content.
                fresh = table.take(pa.array(range(table.num_rows), pa.int64()))
                writer.write_table(fresh.replace_schema_metadata(None).combine_chunks())
        digest.update(name.encode() + b"\0")
        digest.update(memoryview(sink.getvalue()))
    return digest.hexdigest()


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file beside its place, flush it, then rename it there."""
    with written_whole(path) as beside:
        beside.write_bytes(data)


@contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """A new file beside a place. At the end of the block it is on the disk and in that place, or nowhere.

    Raises:
        DiskFull: If there is no room for it.
    """
    beside = path.with_name(f".{path.name}.{uuid.uuid4().hex}.tmp")  # another name for every writer
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield beside
        _flush(beside)
        beside.replace(path)
        _flush(path.parent)  # else the new name itself may be lost with the power
    except OSError as error:
        if error.errno in NO_ROOM:
            raise DiskFull(
                f"{path} cannot be written ({os.strerror(error.errno)}): make room on the disk of {path.parent} and "
                "give the same command again, what is bought is kept"
            ) from error
        raise
    finally:
        beside.unlink(missing_ok=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def serialised(table: pa.Table, about: Mapping[str, str] | None = None) -> bytes:
    """A table as Parquet, with `about` in its metadata."""
    sink = pa.BufferOutputStream()
    pq.write_table(_versioned(table, about), sink, compression="zstd", use_dictionary=_repeating(table))
    return sink.getvalue().to_pybytes()


def write(path: Path, table: pa.Table, about: Mapping[str, str] | None = None) -> None:
    """Write a table as one file."""
    write_bytes(path, serialised(table, about))


def write_parts(path: Path, parts: Iterable[pa.Table], about: Mapping[str, str] | None = None) -> int:
    """Write tables of one schema as one file, holding one part at a time; returns the rows. Nothing for no parts."""
    remaining = iter(parts)
    first = next(remaining, None)
    if first is None:
        return 0
    schema = _versioned(first, about).schema
    rows = 0
    with (
        written_whole(path) as beside,
        pq.ParquetWriter(beside, schema, compression="zstd", use_dictionary=_repeating(first)) as writer,
    ):
        for part in chain((first,), remaining):
            writer.write_table(_versioned(part, about))
            rows += part.num_rows
    return rows


def _versioned(table: pa.Table, about: Mapping[str, str] | None) -> pa.Table:
    said = {f"palimpsest.{name}".encode(): value.encode() for name, value in (about or {}).items()}
    metadata = {**(table.schema.metadata or {}), **said, _VERSION_KEY: str(VERSION).encode()}
    return table.replace_schema_metadata(metadata)


def _repeating(table: pa.Table) -> Any:
    """The columns worth a dictionary: vectors only grow by one."""
    return [f.name for f in table.schema if not pa.types.is_fixed_size_list(f.type)]


def read(path: Path, schema: pa.Schema | None = None, sha256: str | None = None) -> pa.Table:
    """Read a table; columns that an older version lacks come as nulls.

    Args:
        path: The file.
        schema: The columns wanted, in order; none gives the file as it is.
        sha256: What the file's bytes must hash to.

    Raises:
        TornTable: If the file is torn or not the one that was written.
    """
    data = path.read_bytes()
    if sha256 is not None and hashlib.sha256(data).hexdigest() != sha256:
        raise TornTable(f"{path} is not what was written there; remove it and run again to make it anew")
    try:
        table = pq.read_table(pa.BufferReader(data))
        return table if schema is None else _upgraded(table, schema)
    except (pa.ArrowException, OSError) as error:  # OSError: what Arrow makes of a footer that is no footer
        reason = str(error).splitlines()[0]
        raise TornTable(f"{path} is not whole Parquet of ours ({reason}); remove it and run again") from error


def _upgraded(table: pa.Table, schema: pa.Schema) -> pa.Table:
    columns = [
        table[f.name].cast(f.type) if f.name in table.column_names else pa.nulls(table.num_rows, f.type)
        for f in schema
    ]
    return pa.table(columns, schema=schema)
