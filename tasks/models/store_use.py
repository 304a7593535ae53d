"""What a store holds and who uses it, as far as its ledger knows; and the removal of what nobody needs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from memory.errors import BadInput
from tasks.models import store_rows
from tasks.models.disk_faults import told
from tasks.models.quarantine import Quarantine, SetAside

_DAY = 86_400.0
_SIZE = "COALESCE(LENGTH(CAST(value AS BLOB)), 0)"
_USED = "SELECT call_id FROM calls"


@dataclass(frozen=True, slots=True)
class Group:
    """Entries of one kind. Provider, model and task are empty where the ledger does not know them."""

    provider: str
    model: str
    task: str
    entries: int
    bytes: int


@dataclass(slots=True)
class Summary:
    """What a store holds.

    Attributes:
        entries: Replies and vectors.
        bytes: Of their values, without the database around them.
        groups: Them by provider, model and task.
        runs: How many of them each run has bought or replayed, by the run's name.
        set_aside: What is in quarantine.
    """

    entries: int = 0
    bytes: int = 0
    groups: list[Group] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    set_aside: list[SetAside] = field(default_factory=list)


def summary(folder: Path) -> Summary:
    """What a store holds, and for whom.

    Raises:
        BadInput: If there is no store, or it is damaged.
    """
    found = Summary(set_aside=list(Quarantine(folder / "quarantine").all()))
    with _with_calls(folder) as connection:
        kinds = connection.execute(
            "SELECT COALESCE(provider, ''), COALESCE(model, ''), COALESCE(task, ''), COUNT(*),"  # noqa: S608
            f" SUM({_SIZE}) FROM Cache LEFT JOIN (SELECT call_id, provider, model, task FROM calls GROUP BY call_id)"
            " ON call_id = key GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
        )
        found.groups = [Group(*kind) for kind in kinds]
        found.runs = dict(
            connection.execute(
                "SELECT run, COUNT(DISTINCT call_id) FROM calls JOIN Cache ON key = call_id GROUP BY run ORDER BY run"
            )
        )
    found.entries = sum(group.entries for group in found.groups)
    found.bytes = sum(group.bytes for group in found.groups)
    return found


def damaged(folder: Path) -> Iterator[tuple[str, str]]:
    """Name and fault of every damaged entry; nothing is changed.

    Raises:
        BadInput: If there is no store, or its database cannot be opened.
    """
    with store_rows.reading(folder) as connection:
        expected, read = store_rows.count(connection), 0
        for row in store_rows.rows(connection):
            read += 1
            fault = row.fault()
            if fault is not None:
                yield row.name, fault
        if read < expected:
            database = store_rows.database_of(folder)
            yield str(database), f"{expected - read:,} entries cannot be read; cache export saves the others"


@dataclass(frozen=True, slots=True)
class Superfluous:
    """Entries that may be removed: their row ids, and the bytes of their values."""

    rows: tuple[int, ...]
    bytes: int


def superfluous(
    folder: Path,
    *,
    of_run: str | None = None,
    kept_runs: Sequence[str] | None = None,
    older_than_days: float | None = None,
) -> Superfluous:
    """The entries that fulfil all conditions that are given.

    Args:
        folder: The store.
        of_run: Used by this run, and by no other.
        kept_runs: Used by a run, but by none of these.
        older_than_days: Stored longer ago, by the clocks then and now.

    Raises:
        BadInput: If no condition is given, or there is no store, or it is damaged.
    """
    wheres: list[str] = []
    values: list[str | float] = []
    if of_run is not None:
        wheres += [f"key IN ({_USED} WHERE run = ?)", f"key NOT IN ({_USED} WHERE run <> ?)"]
        values += [of_run, of_run]
    if kept_runs is not None:
        wheres += [
            f"key IN ({_USED})",
            f"key NOT IN ({_USED} WHERE run IN ({', '.join('?' * len(kept_runs))}))",
        ]
        values += kept_runs
    if older_than_days is not None:
        wheres.append("store_time < ?")
        values.append(time.time() - older_than_days * _DAY)
    if not wheres:
        raise BadInput("say what to remove: of a run, used by no run of a folder, or older than so many days")
    with _with_calls(folder) as connection:
        select = f"SELECT rowid, {_SIZE} FROM Cache WHERE {' AND '.join(wheres)}"  # noqa: S608
        found = connection.execute(select, values).fetchall()
    return Superfluous(tuple(rowid for rowid, _ in found), sum(size for _, size in found))


def remove(folder: Path, rows: Iterable[int]) -> None:
    """Remove entries, all or none.

    Raises:
        BadInput: If the store may not be written.
        CallRefused: If the disk is full.
    """
    with store_rows.changing(folder) as connection:
        for rowid in rows:
            store_rows.delete(connection, rowid)


@contextmanager
def _with_calls(folder: Path) -> Iterator[sqlite3.Connection]:
    """The store with the ledger's `calls` beside it, which are none where there is no ledger."""
    ledger = folder / "ledger.sqlite"
    with store_rows.reading(folder) as connection, told(store_rows.database_of(folder)):
        if ledger.is_file():
            with told(ledger):
                connection.execute("ATTACH ? AS ledger", (f"file:{quote(str(ledger.resolve()))}?mode=ro",))
                connection.execute("SELECT 1 FROM ledger.calls LIMIT 1").fetchone()
        else:
            connection.execute(
                "CREATE TEMP TABLE calls (call_id TEXT, provider TEXT, model TEXT, task TEXT, run TEXT)"
            )
        yield connection
