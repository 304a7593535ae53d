"""The ledger: one row for each call that a run made, bought or replayed. Rows are only ever added."""

from __future__ import annotations

import sqlite3
import threading
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from memory.errors import BadInput

Outcome = Literal["paid", "replayed", "unusable", "failed"]
_BUFFER = 2_000


@dataclass(frozen=True, slots=True)
class Entry:
    """One call.

    Attributes:
        run: The run's name.
        stage: The stage of the study, such as `extract`.
        condition: The condition that asked, empty where several share the call.
        call_id: Key of the reply in the store.
        provider: Alias of the provider.
        model: The model asked.
        model_returned: The model that the provider says has answered; none if there was no reply.
        task: `extract`, `query_entities`, `answer`, `judge` or `embed`.
        attempt: Zero for the first ask.
        repeat: Zero for the first run of a question.
        outcome: `paid`: bought and usable. `unusable`: bought, and of no use. `failed`: no reply. `replayed`:
            found in the store, at no cost; if `reason` is given, what was found is of no use.
        reason: Why there is no usable reply; none if there is.
        prompt_tokens: As the provider counts; none where it does not say.
        completion_tokens: Likewise.
        cached_tokens: Part of `prompt_tokens` that the provider had in its own cache.
        usd: What the call cost now: zero if replayed; none if the model's price is unknown.
        latency_ms: From the first try to the reply; a batch's time is shared out evenly.
        retries: Tries after the first that faults of transport made necessary.
        flags: What a report should count, such as `input_cut`, `model_differs`.
    """

    run: str
    stage: str
    condition: str
    call_id: str
    provider: str
    model: str
    model_returned: str | None
    task: str
    attempt: int
    repeat: int
    outcome: Outcome
    reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    usd: float | None = None
    latency_ms: float = 0.0
    retries: int = 0
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over rows of the ledger.

    Attributes:
        usd: Sum of the known prices.
        unpriced: Bought calls (usable or not) whose price is unknown, and missing in `usd`.
    """

    paid: int = 0
    replayed: int = 0
    unusable: int = 0
    failed: int = 0
    retries: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    usd: float = 0.0
    unpriced: int = 0


_COLUMNS = tuple(field.name for field in fields(Entry))
_FIELDS: list[pa.Field[Any]] = [
    pa.field("time", pa.timestamp("us", tz="UTC"), nullable=False),
    *(pa.field(name, pa.string(), nullable=False) for name in _COLUMNS[:6]),
    pa.field("model_returned", pa.string()),
    pa.field("task", pa.string(), nullable=False),
    pa.field("attempt", pa.int32(), nullable=False),
    pa.field("repeat", pa.int32(), nullable=False),
    pa.field("outcome", pa.string(), nullable=False),
    pa.field("reason", pa.string()),
    pa.field("prompt_tokens", pa.int64()),
    pa.field("completion_tokens", pa.int64()),
    pa.field("cached_tokens", pa.int64()),
    pa.field("usd", pa.float64()),
    pa.field("latency_ms", pa.float64(), nullable=False),
    pa.field("retries", pa.int32(), nullable=False),
    pa.field("flags", pa.string(), nullable=False),
]
SCHEMA = pa.schema(_FIELDS)
"""The `calls` table; `flags` are separated by blanks."""

_CREATE = """
CREATE TABLE IF NOT EXISTS calls (
    process TEXT NOT NULL, time REAL NOT NULL, run TEXT NOT NULL, stage TEXT NOT NULL,
    condition TEXT NOT NULL, call_id TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    model_returned TEXT, task TEXT NOT NULL, attempt INTEGER NOT NULL, repeat INTEGER NOT NULL,
    outcome TEXT NOT NULL, reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER,
    cached_tokens INTEGER, usd REAL, latency_ms REAL NOT NULL, retries INTEGER NOT NULL, flags TEXT NOT NULL)
"""
_NAMES = ", ".join(_COLUMNS)
_INSERT = f"INSERT INTO calls (process, time, {_NAMES}) VALUES (?, ?{', ?' * len(_COLUMNS)})"  # noqa: S608
_SELECT = f"SELECT time, {_NAMES} FROM calls WHERE run = ? ORDER BY rowid"  # noqa: S608
_TOTALS = """
SELECT COALESCE(SUM(outcome = 'paid'), 0), COALESCE(SUM(outcome = 'replayed'), 0),
       COALESCE(SUM(outcome = 'unusable'), 0), COALESCE(SUM(outcome = 'failed'), 0),
       COALESCE(SUM(retries), 0), COALESCE(SUM(prompt_tokens), 0), COALESCE(SUM(completion_tokens), 0),
       COALESCE(SUM(cached_tokens), 0), COALESCE(SUM(usd), 0.0),
       COALESCE(SUM(outcome IN ('paid', 'unusable') AND usd IS NULL), 0)
FROM calls WHERE (:run IS NULL OR run = :run) AND (:process IS NULL OR process = :process)
"""


class Ledger:
    """The calls of all runs that share a store. Thread-safe.

    A stage asks for the same call many times (every condition looks up the vectors of every turn). A replay
    is entered once for each process, stage and condition, so that counts are counts of calls and not of
    lookups.
    """

    def __init__(self, folder: Path) -> None:
        """Open the ledger in the store's folder, and make it if it is not there.

        Raises:
            BadInput: If it cannot be opened.
        """
        self._path = folder / "ledger.sqlite"
        self._lock = threading.Lock()
        self._process = uuid.uuid4().hex
        self._entered: set[int] = set()  # hashes: there may be millions
        self._replays: list[tuple[object, ...]] = []
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = sqlite3.connect(self._path, timeout=60, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            with self._connection:
                self._connection.execute(_CREATE)
                self._connection.execute("CREATE INDEX IF NOT EXISTS calls_run ON calls (run)")
        except (OSError, sqlite3.Error) as error:
            raise BadInput(
                f"ledger {self._path} cannot be used: {error}; mend it, or use another --store"
            ) from error

    def enter(self, entries: Sequence[Entry]) -> None:
        """Add rows, all or none; on the disk when this returns, but for replays, which cost nothing."""
        now = time.time()
        rows: list[tuple[object, ...]] = []
        with self._lock:
            for entry in entries:
                key = hash((entry.run, entry.stage, entry.condition, entry.call_id))
                if entry.outcome == "replayed" and key in self._entered:
                    continue
                self._entered.add(key)
                row = self._row(now, entry)
                (self._replays if entry.outcome == "replayed" else rows).append(row)
            if rows or len(self._replays) >= _BUFFER:
                self._write(rows)

    def totals(self, run: str | None = None, *, now: bool = False) -> Totals:
        """Sums over a run (or all, if none is named): `now` over this process's rows only, else ever."""
        with self._lock:
            self._write([])
            wanted = {"run": run, "process": self._process if now else None}
            return Totals(*self._connection.execute(_TOTALS, wanted).fetchone())

    def rows(self, run: str) -> pa.Table:
        """The `calls` table of a run, in the order of entry; see `SCHEMA`."""
        with self._lock:
            self._write([])
            rows = self._connection.execute(_SELECT, (run,)).fetchall()
        columns = list(zip(*rows, strict=True)) or [()] * len(SCHEMA)
        times = pa.array([round(seconds * 1e6) for seconds in columns[0]], pa.int64()).cast(_FIELDS[0].type)
        others = [
            pa.array(column, field.type) for column, field in zip(columns[1:], _FIELDS[1:], strict=True)
        ]
        return pa.table([times, *others], schema=SCHEMA)

    def close(self) -> None:
        """Write what is waiting, and close the file."""
        with self._lock:
            self._write([])
            self._connection.close()

    def _row(self, now: float, entry: Entry) -> tuple[object, ...]:
        values = [getattr(entry, column) for column in _COLUMNS[:-1]]
        return (self._process, now, *values, " ".join(entry.flags))

    def _write(self, rows: list[tuple[object, ...]]) -> None:
        if not rows and not self._replays:
            return
        with self._connection:
            self._connection.executemany(_INSERT, self._replays + rows)
        self._replays = []
