"""How the pace of each provider changed, in the ledger's file. Rows are only ever added."""

from __future__ import annotations

import sqlite3
from typing import Any

import pyarrow as pa

from tasks.models.pace import PaceEvent

_FIELDS: list[pa.Field[Any]] = [
    pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
    pa.field("provider", pa.string(), nullable=False),
    pa.field("event", pa.string(), nullable=False),
    pa.field("limit", pa.int32(), nullable=False),
    pa.field("reason", pa.string()),
]
SCHEMA = pa.schema(_FIELDS)
"""The `pace` table of a run; see `tasks.models.pace.PaceEvent`."""


def create(connection: sqlite3.Connection) -> None:
    """Make the table where it is not there."""
    connection.execute(
        'CREATE TABLE IF NOT EXISTS pace (process TEXT NOT NULL, run TEXT NOT NULL, "time" REAL NOT NULL,'
        ' provider TEXT NOT NULL, event TEXT NOT NULL, "limit" INTEGER NOT NULL, reason TEXT)'
    )


def add(connection: sqlite3.Connection, process: str, run: str, event: PaceEvent) -> None:
    """Add a change."""
    row = (process, run, event.time, event.provider, event.event, event.limit, event.reason)
    connection.execute("INSERT INTO pace VALUES (?, ?, ?, ?, ?, ?, ?)", row)


def rows(connection: sqlite3.Connection, run: str) -> pa.Table:
    """The `pace` table of a run, in the order of entry."""
    found = connection.execute(
        'SELECT "time", provider, event, "limit", reason FROM pace WHERE run = ? ORDER BY rowid', (run,)
    ).fetchall()
    times, *others = list(zip(*found, strict=True)) or [()] * len(SCHEMA)
    moments = pa.array([round(seconds * 1e6) for seconds in times], pa.int64()).cast(
        SCHEMA.field("time").type
    )
    columns = [pa.array(column, field.type) for column, field in zip(others, _FIELDS[1:], strict=True)]
    return pa.table([moments, *columns], schema=SCHEMA)
