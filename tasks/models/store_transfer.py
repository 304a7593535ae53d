"""Taking a store to another machine: all of it into one file, and out of it into another store."""

from __future__ import annotations

import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path

from memory.errors import BadInput
from results.tables import written_whole
from tasks.models import store_rows
from tasks.models.ledger import Ledger
from tasks.models.store import Store
from tasks.models.store_file import Entered, Kept, StoreFile, read_store_file

_TOGETHER = 500


@dataclass(slots=True)
class Exported:
    """What an export holds, and what it could not take along.

    Attributes:
        entries: Replies and vectors.
        rows: Rows of the ledger.
        damaged: Entries that were left out, each with its fault.
        unread: Entries that a damaged database does not give back at all.
        ledger_fault: Why the ledger, or a part of it, was left out.
    """

    entries: int = 0
    rows: int = 0
    damaged: dict[str, str] = field(default_factory=dict)
    unread: int = 0
    ledger_fault: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """What was in a file, and what of it was new. Entries that were there already are kept as they are."""

    entries: int
    new_entries: int
    rows: int
    new_rows: int


def export_store(folder: Path, file: Path) -> Exported:
    """Write all whole entries of a store, and its ledger, to a file.

    Raises:
        BadInput: If there is no store, its database cannot be opened, or the file exists.
        DiskFull: If there is no room for the file.
    """
    if file.exists():
        raise BadInput(f"{file} exists; name another file, or remove it")
    done = Exported()
    with written_whole(file) as place, StoreFile(place) as writer:
        place.chmod(0o600)
        with store_rows.reading(folder) as connection:
            expected = store_rows.count(connection)
            for row in store_rows.rows(connection):
                fault = row.fault()
                if fault is None:
                    writer.keep(Kept(row.name, row.value()))
                    done.entries += 1
                else:
                    done.damaged[row.name] = fault
        done.unread = max(0, expected - done.entries - len(done.damaged))
        _export_ledger(folder, writer, done)
        writer.finish()
    return done


def _export_ledger(folder: Path, writer: StoreFile, done: Exported) -> None:
    ledger = folder / "ledger.sqlite"
    if not ledger.exists():
        return
    try:
        with closing(store_rows.connect(ledger, "mode=ro")) as connection:
            connection.row_factory = sqlite3.Row
            for row in connection.execute("SELECT * FROM calls ORDER BY rowid"):
                writer.enter(dict(row))
                done.rows += 1
    except sqlite3.Error as error:
        done.ledger_fault = f"{ledger}: {error}"


def import_store(file: Path, folder: Path) -> Imported:
    """Add to a store what it lacks of an export; the store is made if it is not there.

    Raises:
        BadInput: If the file is anything else than a whole export. All of it is read and checked before any of it is
            kept.
        CallRefused: If the disk is full.
    """
    for _ in read_store_file(file):
        pass
    store, ledger = Store(folder), Ledger(folder)
    try:
        entries, new_entries = _import_entries(file, store)
        rows, new_rows = _import_rows(file, ledger)
    finally:
        ledger.close()
        store.close()
    return Imported(entries, new_entries, rows, new_rows)


def _import_entries(file: Path, store: Store) -> tuple[int, int]:
    found = (item for item in read_store_file(file) if isinstance(item, Kept))
    entries = new = 0
    while together := list(islice(found, _TOGETHER)):
        new += store.add({item.call_id: item.value for item in together})
        entries += len(together)
    return entries, new


def _import_rows(file: Path, ledger: Ledger) -> tuple[int, int]:
    """A process only ever adds rows: of one that has n rows in the ledger, the file's first n are there."""
    there = ledger.rows_by_process()
    seen: Counter[str] = Counter()
    rows = new = 0
    found = (item for item in read_store_file(file) if isinstance(item, Entered))
    while together := list(islice(found, _TOGETHER)):
        missing = []
        for item in together:
            seen[item.process] += 1
            if seen[item.process] > there.get(item.process, 0):
                missing.append(item)
        ledger.add([(item.process, item.time, item.entry) for item in missing])
        rows += len(together)
        new += len(missing)
    return rows, new
