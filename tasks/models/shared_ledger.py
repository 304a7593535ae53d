"""A run's rows of the ledger, on their way from the machines that did its works to the one that reports it.

Each machine keeps its own ledger. A process only ever adds rows, so that its n-th row is the same wherever it lies:
what is shared is named after a process and the numbers of its rows, and sending or gathering twice adds nothing.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from tasks.models.ledger import SCHEMA, Entry, Ledger
from tasks.shared import Shared

_NAME = re.compile(r"([0-9a-f]{32})-(\d{9})-(\d{9})-([0-9a-f]{64})\.parquet")


def send(ledger: Ledger, shared: Shared) -> None:
    """Share the rows of a run that are not shared yet, those of dead processes of this machine among them."""
    sent: dict[str, int] = {}
    for process, _, last, _ in _parts(shared):
        sent[process] = max(last, sent.get(process, 0))
    for process, rows in ledger.rows_by_process(shared.run).items():
        first = sent.get(process, 0)
        if rows > first:
            data = _written(ledger.rows(shared.run, process, first))
            sha256 = hashlib.sha256(data).hexdigest()
            shared.put({f"ledger/{process}-{first + 1:09}-{rows:09}-{sha256}.parquet": data})


def gather(ledger: Ledger, shared: Shared) -> None:
    """Add the rows that other machines have shared; a part that is not what its name says is passed over."""
    there = ledger.rows_by_process(shared.run)
    parts = [part for part in sorted(_parts(shared)) if part[2] > there.get(part[0], 0)]
    found = shared.get([_name(part) for part in parts])
    for part in parts:
        process, first, last, sha256 = part
        data = found.get(_name(part), b"")
        known = there.get(process, 0)
        if hashlib.sha256(data).hexdigest() != sha256 or first > known + 1 or last <= known:
            continue
        ledger.add(_entries(process, pq.read_table(io.BytesIO(data), schema=SCHEMA).slice(known + 1 - first)))
        there[process] = last


def _entries(process: str, rows: pa.Table) -> list[tuple[str, float, Entry]]:
    entries = []
    for row in rows.to_pylist():
        time, flags = row.pop("time"), row.pop("flags")
        entries.append((process, time.timestamp(), Entry(**row, flags=tuple(flags.split()))))
    return entries


def _parts(shared: Shared) -> Iterator[tuple[str, int, int, str]]:
    """Process, first and last row, and hash of each shared part."""
    for name in shared.names("ledger"):
        match = _NAME.fullmatch(name)
        if match is not None:
            process, first, last, sha256 = match.groups()
            yield process, int(first), int(last), sha256


def _name(part: tuple[str, int, int, str]) -> str:
    process, first, last, sha256 = part
    return f"ledger/{process}-{first:09}-{last:09}-{sha256}.parquet"


def _written(rows: pa.Table) -> bytes:
    sink = io.BytesIO()
    pq.write_table(rows, sink, compression="zstd")
    return sink.getvalue()
