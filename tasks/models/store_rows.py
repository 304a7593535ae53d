"""The store's database row by row, as raw bytes: to verify, set aside, move and prune entries without trusting them."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from memory.errors import BadInput
from tasks.models.disk_faults import told
from tasks.models.entries import CALL_ID, BrokenEntry, check, check_columns

_TIMEOUT = 60.0
# Every column may hold anything, so each is cast: Python would stumble over text that is not UTF-8.
_COLUMNS = (
    "rowid, COALESCE(CAST(raw AS INTEGER), 0), COALESCE(CAST(key AS BLOB), x''), "
    "COALESCE(CAST(mode AS INTEGER), 0), filename IS NOT NULL, typeof(value), "
    "COALESCE(CAST(value AS BLOB), x''), COALESCE(CAST(store_time AS REAL), 0.0)"
)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of diskcache's table `Cache`.

    Attributes:
        rowid: SQLite's number of it.
        raw: Whether the key is text; else it is a pickle.
        key: The call id, if nothing is wrong with it.
        mode: diskcache's mode of storage.
        in_file: Whether a file is named that holds the value: never written, never followed.
        kind: SQLite's type of the value.
        data: The value's bytes.
        stored: When it was stored, in seconds since 1970 by the clock of that moment.
    """

    rowid: int
    raw: int
    key: bytes
    mode: int
    in_file: int
    kind: str
    data: bytes
    stored: float

    @property
    def name(self) -> str:
        """The key in plain letters, for people."""
        return self.key.decode("utf-8", "replace").encode("ascii", "backslashreplace").decode()[:200]

    def value(self) -> str | bytes:
        """The value, unread.

        Raises:
            BrokenEntry: If it is nothing that the store writes.
        """
        check_columns(self.mode, bool(self.in_file), self.kind)
        if self.kind == "blob":
            return self.data
        try:
            return self.data.decode("utf-8")
        except UnicodeDecodeError:
            raise BrokenEntry("its text is not UTF-8") from None

    def fault(self) -> str | None:
        """What is wrong with the entry, if anything is."""
        if not self.raw or not CALL_ID.fullmatch(self.key.decode("utf-8", "replace")):
            return "its key is no call id"
        try:
            check(self.value())
        except BrokenEntry as broken:
            return str(broken)
        return None


def database_of(folder: Path) -> Path:
    """The file of a store's entries."""
    return folder / "cache.db"


@contextmanager
def reading(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection that cannot write, to the store as it is now.

    Raises:
        BadInput: If there is no store, or its database is damaged.
        CallRefused: If the disk fails.
    """
    database = database_of(folder)
    if not database.is_file():
        raise BadInput(f"{folder} is no store: it has no {database.name}; name one with --store")
    with told(database):
        connection = connect(database, "mode=ro")
        try:
            connection.execute("SELECT 1 FROM sqlite_master").fetchone()
        except sqlite3.OperationalError:
            # A folder that may not be written: SQLite cannot make its shared memory there, and nobody else writes.
            connection.close()
            connection = connect(database, "mode=ro&immutable=1")
    with closing(connection):
        yield connection


@contextmanager
def changing(folder: Path) -> Iterator[sqlite3.Connection]:
    """A connection inside one transaction that nobody else writes beside; all of it is done, or nothing.

    Raises:
        BadInput: As `reading`, or if it may not be written.
        CallRefused: If the disk is full.
    """
    database = database_of(folder)
    with told(database), closing(connect(database, "mode=rw")) as connection:
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute("BEGIN IMMEDIATE")
        with connection:
            yield connection


def connect(database: Path, how: str) -> sqlite3.Connection:
    """A connection to a file that may come from anyone; `how` is SQLite's query of a file's URI."""
    address = f"file:{quote(str(database.resolve()))}?{how}"
    connection = sqlite3.connect(address, timeout=_TIMEOUT, uri=True, isolation_level=None)
    # The file may come from anyone: nothing in its schema may call a function with an effect.
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def find(connection: sqlite3.Connection, key: str) -> Row | None:
    """The row of a key, or none."""
    found = connection.execute(f"SELECT {_COLUMNS} FROM Cache WHERE key = ? AND raw = 1", (key,)).fetchone()  # noqa: S608
    return None if found is None else Row(*found)


def count(connection: sqlite3.Connection) -> int:
    """How many rows diskcache says that there are; 0 if it does not, as in a damaged database."""
    try:
        found = connection.execute("SELECT value FROM Settings WHERE key = 'count'").fetchone()
    except sqlite3.DatabaseError:
        return 0
    return int(found[0]) if found and isinstance(found[0], int) else 0


def delete(connection: sqlite3.Connection, rowid: int) -> None:
    """Remove a row."""
    connection.execute("DELETE FROM Cache WHERE rowid = ?", (rowid,))


def rows(connection: sqlite3.Connection) -> Iterator[Row]:
    """Every row that can be read; a damaged database gives those of its pages that are whole.

    Raises:
        BadInput: If nothing can be read at all.
    """
    last = -1
    try:
        for found in connection.execute(f"SELECT {_COLUMNS} FROM Cache ORDER BY rowid"):  # noqa: S608
            row = Row(*found)
            last = row.rowid
            yield row
    except sqlite3.DatabaseError:
        for rowid in sorted(number for number in _reachable(connection) if number > last):
            row_there = _row(connection, rowid)
            if row_there is not None:
                yield row_there


def _row(connection: sqlite3.Connection, rowid: int) -> Row | None:
    try:
        found = connection.execute(f"SELECT {_COLUMNS} FROM Cache WHERE rowid = ?", (rowid,)).fetchone()  # noqa: S608
    except sqlite3.DatabaseError:
        return None
    return None if found is None else Row(*found)


def _reachable(connection: sqlite3.Connection) -> set[int]:
    """Numbers of rows that some way through a damaged database still leads to: table and index, from either end."""
    found: set[int] = set()
    for order in ("rowid", "rowid DESC", "key, raw", "key DESC, raw DESC"):
        try:
            for (rowid,) in connection.execute(f"SELECT rowid FROM Cache ORDER BY {order}"):  # noqa: S608
                found.add(rowid)
        except sqlite3.DatabaseError:
            continue
    return found
