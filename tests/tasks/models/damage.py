"""Ways to damage what a store has on the disk, behind its back."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any


def value_of(folder: Path, key: str) -> Any:
    """What the database holds for a key, as it is."""
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        found = database.execute("SELECT value FROM Cache WHERE key = ?", (key,)).fetchone()
    return found and found[0]


def keys_of(folder: Path) -> list[str]:
    """All keys, in the order of storing."""
    with closing(sqlite3.connect(folder / "cache.db")) as database:
        return [key for (key,) in database.execute("SELECT key FROM Cache ORDER BY rowid")]


def put(folder: Path, key: str, value: Any, mode: int = 1) -> None:
    """Write a value over what the database holds for a key."""
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        database.execute("UPDATE Cache SET value = ?, mode = ? WHERE key = ?", (value, mode, key))


def put_text(folder: Path, key: str, data: bytes) -> None:
    """Write bytes as if they were text."""
    with closing(sqlite3.connect(folder / "cache.db")) as database, database:
        database.execute("UPDATE Cache SET value = CAST(? AS TEXT) WHERE key = ?", (data, key))


def zero_a_leaf(folder: Path, key: str) -> None:
    """Zero the page of the database that holds the text of an entry, as a disk with a bad sector gives it back."""
    database = folder / "cache.db"
    with closing(sqlite3.connect(database)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        (size,) = connection.execute("PRAGMA page_size").fetchone()
        text = connection.execute("SELECT value FROM Cache WHERE key = ?", (key,)).fetchone()[0]
    data = bytearray(database.read_bytes())
    start = data.index(text.encode()) // size * size
    data[start : start + size] = bytes(size)
    database.write_bytes(bytes(data))
