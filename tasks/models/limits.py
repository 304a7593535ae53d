"""What keeps concurrent callers from buying twice, and from asking on when a provider is down."""

from __future__ import annotations

import fcntl
import hashlib
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.errors import CallRefused
from tasks.models.providers import AccessRefused, ProviderFault, TransportFault


class KeyedLocks:
    """One lock for each key that somebody holds or waits for, in this process or in another one on the same folder.

    Between processes they are locks on files, which the system lifts when a process dies. Keys share 4,096 files, so
    now and then one waits for another in vain; nobody holds two, so none waits for ever.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._guard = threading.Lock()
        self._locks: dict[str, tuple[threading.Lock, int]] = {}

    @contextmanager
    def hold(self, key: str) -> Iterator[None]:
        """Only one thread at a time is inside with the same key."""
        with self._guard:
            lock, users = self._locks.get(key, (threading.Lock(), 0))
            self._locks[key] = (lock, users + 1)
        try:
            with lock, self._file(key).open("ab") as file:
                fcntl.flock(file, fcntl.LOCK_EX)  # until the file is closed
                yield
        finally:
            with self._guard:
                lock, users = self._locks.pop(key)
                if users > 1:
                    self._locks[key] = (lock, users - 1)

    def _file(self, key: str) -> Path:
        return self._folder / f"{hashlib.sha256(key.encode()).hexdigest()[:3]}.lock"


class Breaker:
    """Stops the run when a provider refuses us, or has failed many calls in a row with all their retries."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._guard = threading.Lock()
        self._failures: dict[str, int] = {}
        self._refused: dict[str, str] = {}

    def check(self, alias: str) -> None:
        """Before a request.

        Raises:
            CallRefused: If the provider is not to be asked any more.
        """
        with self._guard:
            reason = self._refused.get(alias)
        if reason is not None:
            raise CallRefused(reason)

    def succeeded(self, alias: str) -> None:
        """After a reply, usable or not."""
        with self._guard:
            self._failures[alias] = 0

    def failed(self, alias: str, fault: ProviderFault) -> None:
        """After a request that brought none, retries included."""
        with self._guard:
            if isinstance(fault, AccessRefused):
                self._refused.setdefault(alias, fault.reason)
            elif isinstance(fault, TransportFault):
                self._failures[alias] = self._failures.get(alias, 0) + 1
                if self._failures[alias] >= self._limit:
                    down = f"{alias} is down: {self._limit} calls in a row failed, the last: {fault.reason}"
                    self._refused.setdefault(alias, down)
