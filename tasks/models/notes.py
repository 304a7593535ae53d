"""What a process has met that all of its run must know, in the ledger's file: a budget that refused, calls lost.

A run's notes are of its latest attempt: they are cleared where that begins.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from typing import Literal

Kind = Literal["exhausted", "lost"]
"""`exhausted`: which budget has refused a call, in words; `lost`: the id of a call lost to damage."""


def create(connection: sqlite3.Connection) -> None:
    """Make the table where it is not there."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS notes"
        " (run TEXT NOT NULL, kind TEXT NOT NULL, note TEXT NOT NULL, PRIMARY KEY (run, kind, note))"
    )


def add(connection: sqlite3.Connection, run: str, kind: Kind, notes: Iterable[str]) -> None:
    """Add notes; those that are there stay."""
    connection.executemany(
        "INSERT OR IGNORE INTO notes VALUES (?, ?, ?)", [(run, kind, note) for note in notes]
    )


def of(connection: sqlite3.Connection, run: str, kind: Kind) -> list[str]:
    """A run's notes of a kind, in the order of entry."""
    found = connection.execute(
        "SELECT note FROM notes WHERE run = ? AND kind = ? ORDER BY rowid", (run, kind)
    )
    return [note for (note,) in found]


def clear(connection: sqlite3.Connection, run: str) -> None:
    """Forget a run's notes."""
    connection.execute("DELETE FROM notes WHERE run = ?", (run,))
