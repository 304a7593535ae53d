"""The store of everything that was ever bought: raw replies and vectors, by call id, shared by all runs."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import diskcache
import numpy as np

from memory.errors import BadInput
from memory.models import Vectors

Record = dict[str, Any]

# All values live in the database itself: one transaction covers them, and no file name is ever read from it.
_NEVER_A_FILE = 2**40
_NEVER_FULL = 2**60
_FULL_SYNC = 2
_HEADER = np.dtype("<u4")
_FLOATS = np.dtype("<f4")


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

    def fetch(self, mode: int, filename: str | None, value: object, read: bool) -> str | bytes:
        """The value of database columns."""
        if mode == diskcache.core.MODE_PICKLE:
            self._refuse("a pickled value")
        if mode != diskcache.core.MODE_RAW or filename is not None or read:
            self._refuse("a reference to a file")
        if not isinstance(value, str | bytes):
            self._refuse(f"a value of type {type(value).__name__}")
        return value

    def remove(self, file_path: str) -> None:
        """Called to delete a replaced entry's file, of which there is none."""
        self._refuse("a reference to a file")


class Store:
    """Raw replies (JSON) and vectors (float32), durable when a `keep` method returns and never evicted.

    Thread-safe. The folder is private to its owner.
    """

    def __init__(self, folder: Path) -> None:
        """Open the store in a folder, and make it if it is not there.

        Raises:
            BadInput: If the folder cannot be made private, or what it holds is no store.
        """
        self.folder = folder
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
            yield
        except diskcache.Timeout:
            raise BadInput(f"store {self.folder}: another process has kept it locked for a minute") from None
        except (OSError, sqlite3.Error, TypeError) as error:
            # TypeError: diskcache hands the settings it finds in the database to the constructor of its disk.
            raise BadInput(
                f"store {self.folder} cannot be used: {error}; mend it, or use another --store"
            ) from error

    def close(self) -> None:
        """Close this thread's connection; others close with their threads."""
        self._cache.close()

    def reply(self, call_id: str) -> Record | None:
        """The raw reply to a call, or none.

        Raises:
            BadInput: If the entry is not one that this store writes.
        """
        value = self._get(call_id)
        if value is None:
            return None
        try:
            record = json.loads(value) if isinstance(value, str) else None
        except ValueError:
            record = None
        if not isinstance(record, dict):
            raise BadInput(f"store {self.folder}: entry {call_id[:12]} is no reply; use another --store")
        return record

    def keep_replies(self, replies: Mapping[str, Record]) -> None:
        """Store raw replies by call id, all or none."""
        self._keep({call_id: json.dumps(record, ensure_ascii=True) for call_id, record in replies.items()})

    def vectors(self, call_ids: Sequence[str]) -> dict[str, Vectors]:
        """The vectors that are there, by call id, each as it was bought (not scaled).

        Raises:
            BadInput: If an entry is not one that this store writes.
        """
        found: dict[str, Vectors] = {}
        for call_id in call_ids:
            value = self._get(call_id)
            if value is not None:
                found[call_id] = self._vector(call_id, value)
        return found

    def keep_vectors(self, call_ids: Sequence[str], vectors: Vectors) -> None:
        """Store vectors, a row for each call id, all or none."""
        header = np.array([vectors.shape[1]], _HEADER).tobytes()
        rows = np.ascontiguousarray(vectors, _FLOATS)
        self._keep({call_id: header + row.tobytes() for call_id, row in zip(call_ids, rows, strict=True)})

    def _vector(self, call_id: str, value: str | bytes) -> Vectors:
        header = _HEADER.itemsize
        if isinstance(value, bytes) and len(value) > header:
            vector = np.frombuffer(value, _FLOATS, offset=header) if len(value) % 4 == 0 else None
            if vector is not None and len(vector) == int(np.frombuffer(value, _HEADER, 1)[0]):
                return vector
        raise BadInput(f"store {self.folder}: entry {call_id[:12]} is no vector; use another --store")

    def _get(self, call_id: str) -> str | bytes | None:
        with self._faults():
            value: str | bytes | None = self._cache.get(call_id)
        return value

    def _keep(self, entries: Mapping[str, str | bytes]) -> None:
        with self._faults(), self._cache.transact():
            for key, value in entries.items():
                self._cache.set(key, value)
