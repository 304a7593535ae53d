"""What a store holds, for one who only looks: nothing is made, written or left in its folder."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import quote

from pydantic import TypeAdapter, ValidationError

from memory.models import Vectors
from tasks.models import spending
from tasks.models.budget import Spent
from tasks.models.disk_faults import told
from tasks.models.entries import BrokenEntry, reply_of, vector_of
from tasks.models.providers import RawReply
from tasks.models.store_rows import database_of, find

_RAW_REPLY = TypeAdapter(RawReply)


class Holdings:
    """Replies and vectors that are bought already. A damaged entry counts as not there, as with `--repair`."""

    def __init__(self, database: Path, connection: sqlite3.Connection | None) -> None:
        self._database = database
        self._connection = connection

    def reply(self, call_id: str) -> RawReply | None:
        """The raw reply to a call, or none."""
        value = self._value(call_id)
        try:
            return None if value is None else _RAW_REPLY.validate_python(reply_of(value))
        except (BrokenEntry, ValidationError):
            return None

    def vector(self, call_id: str) -> Vectors | None:
        """The vector of a call as it was bought, or none."""
        value = self._value(call_id)
        try:
            return None if value is None else vector_of(value)
        except BrokenEntry:
            return None

    def _value(self, call_id: str) -> str | bytes | None:
        if self._connection is None:
            return None
        with told(self._database):
            row = find(self._connection, call_id)
        try:
            return None if row is None else row.value()
        except BrokenEntry:
            return None


@contextmanager
def holdings_of(folder: Path) -> Iterator[Holdings]:
    """What the store in a folder holds; nothing, if there is none.

    Raises:
        BadInput: If its database is damaged.
    """
    database = database_of(folder)
    with _looking(database) as connection:
        yield Holdings(database, connection)


def spent_by(folder: Path, run: str, stage: str = "") -> Spent:
    """What a run, or one of its stages, has spent so far, as the ledger in the store's folder says.

    Raises:
        BadInput: If the ledger is damaged.
    """
    with _looking(folder / "ledger.sqlite") as connection:
        if connection is None or not _has(connection, "spent"):
            return Spent()
        with told(folder / "ledger.sqlite"):
            return spending.spent(connection, "spent", run, stage)


@contextmanager
def _looking(database: Path) -> Iterator[sqlite3.Connection | None]:
    """A connection that cannot write; none where there is no such file.

    It is opened for writing and then told not to: SQLite lays two files beside a database that it reads, and only
    who might write takes them away again. In a folder that may not be written, nobody else writes either.
    """
    if not database.is_file():
        yield None
        return
    with told(database):
        try:
            connection = _connect(database, "mode=rw")
        except sqlite3.OperationalError:
            connection = _connect(database, "mode=ro&immutable=1")
    with closing(connection):
        yield connection


def _connect(database: Path, how: str) -> sqlite3.Connection:
    connection = sqlite3.connect(f"file:{quote(str(database.resolve()))}?{how}", timeout=60.0, uri=True)
    try:
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.execute("PRAGMA query_only = ON")
        _has(connection, "Cache")
    except sqlite3.OperationalError:
        connection.close()
        raise
    return connection


def _has(connection: sqlite3.Connection, table: str) -> bool:
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (table,)).fetchone()
    return found is not None
