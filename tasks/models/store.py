"""The store of everything that was ever bought: raw replies and vectors, by call id, shared by all runs."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, TypeVar

import diskcache

from memory.errors import BadInput, CallFailed
from memory.models import Vectors
from tasks.models import store_rows
from tasks.models.disk_faults import told
from tasks.models.entries import (
    BrokenEntry,
    Record,
    check,
    check_columns,
    reply_of,
    reply_text,
    vector_bytes,
    vector_of,
)
from tasks.models.quarantine import Quarantine
from tasks.models.shared_calls import SharedCalls

T = TypeVar("T")

# All values live in the database itself: one transaction covers them, and no file name is ever read from it.
_NEVER_A_FILE = 2**40
_NEVER_FULL = 2**60
_FULL_SYNC = 2
_TYPES = {str: "text", bytes: "blob", int: "integer", float: "real", type(None): "null"}


class Damaged(CallFailed):
    """A call was bought, but the disk has lost it; it is not bought again unless the user says so (`--repair`)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason, final=False)


class PlainDisk(diskcache.Disk):  # type: ignore[misc]
    """Keys are text; values are text or bytes inside the database. All else is refused, above all pickles."""

    def _refuse(self, found: str) -> NoReturn:
        raise BadInput(
            f"store {self._directory}: an entry holds {found}, which is never written here and will not be "
            "opened; move the folder away, or use another --store"
        )

    def put(self, key: object) -> tuple[str, bool]:
        """The database key of a key."""
        if not isinstance(key, str):
            self._refuse(f"a key of type {type(key).__name__}")
        return key, True

    def get(self, key: object, raw: bool) -> str:
        """The key of a database key."""
        if not raw or not isinstance(key, str):
            self._refuse("a pickled key")
        return key

    def store(self, value: object, read: bool, key: object = None) -> tuple[int, int, None, object]:
        """The database columns (size, mode, file name, value) of a value."""
        if read or not isinstance(value, str | bytes):
            self._refuse(f"a value of type {type(value).__name__}")
        return 0, diskcache.core.MODE_RAW, None, value

    def fetch(self, mode: int, filename: str | None, value: str | bytes, read: bool) -> str | bytes:
        """The value of database columns."""
        check_columns(mode, filename is not None, _TYPES[type(value)])
        return value

    def remove(self, file_path: str) -> None:
        """Called to delete a replaced entry's file, of which there is none."""
        self._refuse("a reference to a file")


class Store:
    """Raw replies (JSON) and vectors (float32), durable when a `keep` method returns and never evicted.

    An entry that is not as it was written is set aside, whole, in the folder `quarantine`, and then counts as not
    there; `refusal` says that it must not be bought again unasked. Thread-safe. The folder is private to its owner.
    """

    def __init__(self, folder: Path, shared: SharedCalls | None = None) -> None:
        """Open the store in a folder, and make it if it is not there.

        What is shared is looked for there, too, and copied here; what is kept is kept there, too.

        Raises:
            BadInput: If the folder cannot be made private, or what it holds is no store.
            CallRefused: If the disk is full.
        """
        self.folder = folder
        self._shared = shared
        self._quarantine = Quarantine(folder / "quarantine")
        with self._faults():
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder.chmod(0o700)
            self._cache = diskcache.Cache(
                str(folder),
                disk=PlainDisk,
                disk_min_file_size=_NEVER_A_FILE,
                eviction_policy="none",
                cull_limit=0,
                size_limit=_NEVER_FULL,
                sqlite_synchronous=_FULL_SYNC,
            )

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            with told(store_rows.database_of(self.folder)):
                yield
        except diskcache.Timeout:
            # diskcache's word for every failure to begin a transaction: begin one ourselves to learn the true one.
            with store_rows.changing(self.folder):
                raise BadInput(
                    f"store {self.folder}: another process has kept it locked for a minute"
                ) from None
        except TypeError as error:
            # diskcache hands the settings it finds in the database to the constructor of its disk.
            raise BadInput(
                f"store {self.folder} cannot be used: {error}; mend it, or use another --store"
            ) from error

    def close(self) -> None:
        """Close this thread's connection; others close with their threads."""
        self._cache.close()

    def reply(self, call_id: str) -> Record | None:
        """The raw reply to a call, or none."""
        return self.read_reply(call_id, dict)

    def read_reply(self, call_id: str, read: Callable[[Record], T]) -> T | None:
        """What `read` makes of the raw reply to a call, or none; a reply that it raises ValueError for is damaged."""
        found = self._read(call_id, lambda value: read(reply_of(value)))
        if found is None and self._shared is not None:
            self._keep(self._shared.replies([call_id]))
            found = self._read(call_id, lambda value: read(reply_of(value)))
        return found

    def keep_replies(self, replies: Mapping[str, Record]) -> None:
        """Store raw replies by call id, all or none."""
        entries = {call_id: reply_text(record) for call_id, record in replies.items()}
        self._keep(entries)
        if self._shared is not None:
            self._shared.keep(entries)

    def vectors(
        self, call_ids: Sequence[str], read: Callable[[Vectors], Vectors] = lambda vector: vector
    ) -> dict[str, Vectors]:
        """The vectors that are there, by call id, each as it was bought (not scaled).

        A vector that `read` raises ValueError for is damaged.
        """
        found = self._vectors(call_ids, read)
        missing = [call_id for call_id in call_ids if call_id not in found]
        if missing and self._shared is not None:
            brought = self._shared.vectors(missing)
            self._keep(brought)
            found |= self._vectors(list(brought), read)
        return found

    def _vectors(self, call_ids: Sequence[str], read: Callable[[Vectors], Vectors]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        for call_id in call_ids:
            vector = self._read(call_id, lambda value: read(vector_of(value)))
            if vector is not None:
                found[call_id] = vector
        return found

    def keep_vectors(self, call_ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors, a row for each call id, all or none."""
        entries = {call_id: vector_bytes(row) for call_id, row in zip(call_ids, vectors, strict=True)}
        self._keep(entries)
        if self._shared is not None:
            self._shared.keep(entries)

    def add(self, entries: Mapping[str, str | bytes]) -> int:
        """Store entries as another store keeps them, all or none; whole ones that are there stay as they are.

        Returns:
            How many were not there.
        """
        missing = {key: value for key, value in entries.items() if self._read(key, _checked) is None}
        self._keep(missing)
        return len(missing)

    def refusals(self, call_ids: Iterable[str]) -> dict[str, Damaged]:
        """Those of some missing calls whose entries were set aside, each with the reason not to buy it unasked."""
        found = {}
        for call_id in call_ids:
            fault = self._quarantine.fault(call_id)
            if fault is not None:
                found[call_id] = Damaged(
                    f"store entry {call_id[:12]} is damaged ({fault}) and set aside; --repair buys it again"
                )
        return found

    def _read(self, call_id: str, read: Callable[[str | bytes], T]) -> T | None:
        try:
            value = self._get(call_id)
            return None if value is None else read(value)
        except ValueError:
            self._set_aside(call_id, read)
            return None

    def _get(self, call_id: str) -> str | bytes | None:
        with self._faults():
            try:
                value: str | bytes | None = self._cache.get(call_id)
            except sqlite3.OperationalError as error:
                if hasattr(error, "sqlite_errorcode"):
                    raise
                raise BrokenEntry("its text is not UTF-8") from None  # Python's complaint, not SQLite's
        return value

    def _set_aside(self, call_id: str, read: Callable[[str | bytes], object]) -> None:
        """Move an entry to quarantine, unless another process has put a whole one in its place by now."""
        with self._faults(), store_rows.changing(self.folder) as connection:
            row = store_rows.find(connection, call_id)
            if row is None:
                return
            try:
                read(row.value())
            except BrokenEntry as broken:
                self._quarantine.put(row, str(broken))
            except ValueError:
                self._quarantine.put(row, "not what such a call gives")
            else:
                return
            store_rows.delete(connection, row.rowid)

    def _keep(self, entries: Mapping[str, str | bytes]) -> None:
        with self._faults():
            with self._cache.transact():
                for key, value in entries.items():
                    self._cache.set(key, value)
            for key in entries:
                self._quarantine.lift(key)


def _checked(value: str | bytes) -> str | bytes:
    check(value)
    return value
