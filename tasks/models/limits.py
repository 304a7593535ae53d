"""What keeps concurrent callers from buying twice, and from asking on when a provider is down."""

from __future__ import annotations

import fcntl
import hashlib
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.errors import CallRefused
from tasks.models.providers import AccessRefused, ProviderFault, TransportFault

_LATER = "start the run again later, or with lower --rpm, --tpm or --max-concurrency"


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
    """Stops the run when a provider refuses us, or answers nothing any more.

    That is so at once when a key, an account or a model is refused; after many calls in a row that failed with all
    their retries; and when, for as long as `patience` seconds, every request comes too often (HTTP 429), or one is
    told to come back later than that.
    """

    def __init__(
        self, limit: int, patience: float = 300.0, clock: Callable[[], float] = time.monotonic
    ) -> None:
        """A breaker that opens after `limit` failed calls in a row."""
        self._limit = limit
        self._patience = patience
        self._clock = clock
        self._guard = threading.Lock()
        self._failures: dict[str, int] = {}
        self._limited_since: dict[str, float] = {}
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
            self._limited_since.pop(alias, None)

    def tried(self, alias: str, fault: ProviderFault) -> None:
        """After a request that brought none, whether or not it is tried again."""
        if not isinstance(fault, TransportFault) or fault.kind != "rate":
            return
        now = self._clock()
        with self._guard:
            limited = now - self._limited_since.setdefault(alias, now)
            asked = fault.retry_after or 0.0
            if asked > self._patience:
                self._refuse(
                    alias, f"{alias} asks us to come back in {asked:.0f} s: {fault.reason}; {_LATER}"
                )
            elif limited >= self._patience:
                self._refuse(
                    alias, f"{alias} let nothing through for {limited:.0f} s: {fault.reason}; {_LATER}"
                )

    def failed(self, alias: str, fault: ProviderFault) -> None:
        """After a call that brought none, retries included."""
        with self._guard:
            if isinstance(fault, AccessRefused):
                self._refuse(alias, fault.reason)
            elif isinstance(fault, TransportFault):
                self._failures[alias] = self._failures.get(alias, 0) + 1
                if self._failures[alias] >= self._limit:
                    calls = f"{self._limit} calls in a row failed, the last: {fault.reason}"
                    limits_us = f"{alias} limits our rate: {calls}; {_LATER}"
                    self._refuse(alias, limits_us if fault.kind == "rate" else f"{alias} is down: {calls}")
            else:
                self._failures[alias] = 0  # it rejects this request, so it is there

    def _refuse(self, alias: str, reason: str) -> None:
        self._refused.setdefault(alias, reason)
