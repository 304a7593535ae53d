"""The ledger: one row for each call that a run made, bought or replayed. Rows are only ever added."""

from __future__ import annotations

import fcntl
import sqlite3
import threading
import time
import uuid
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, BinaryIO, Literal

import pyarrow as pa

from tasks.models import notes, pace_history, spending
from tasks.models.budget import Budget, Spent
from tasks.models.disk_faults import told
from tasks.models.pace import PaceEvent

Outcome = Literal["paid", "replayed", "unusable", "failed", "lost"]
Reservation = str
"""Name of what is held of a budget for calls under way."""
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
        outcome: `paid`: bought and usable. `unusable`: bought, and of no use. `failed`: no reply, and none
            that may be billed. `lost`: sent, and no reply was seen, so that it may be billed; the call itself may have
            been made again. `replayed`: found in the store, at no cost; if `reason` is given, it is of no use.
        reason: Why there is no usable reply; none if there is.
        prompt_tokens: As the provider counts; none where it does not say.
        completion_tokens: Likewise.
        cached_tokens: Part of `prompt_tokens` that the provider had in its own cache.
        usd: What the call cost now: zero if replayed; none if the model's price is unknown.
        latency_ms: From the first try to the reply; a batch's time is shared out evenly.
        retries: Tries after the first that faults of transport made necessary.
        charged_tokens: Prompt and reply as a budget counts them: as the provider counts, else at their worst.
        charged_usd: Likewise.
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
    charged_tokens: int | None = None
    charged_usd: float | None = None
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over rows of the ledger.

    Attributes:
        usd: Sum of the known prices.
        unpriced: Bought calls (usable or not) whose price is unknown, and missing in `usd`.
        lost: Requests that were sent and may be billed, though no reply was seen.
        lost_usd: What those may have cost at worst; not part of `usd`.
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
    lost: int = 0
    lost_usd: float = 0.0


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
    pa.field("charged_tokens", pa.int64()),
    pa.field("charged_usd", pa.float64()),
    pa.field("flags", pa.string(), nullable=False),
]
SCHEMA = pa.schema(_FIELDS)
"""The `calls` table; `flags` are separated by blanks."""

_DECLARED = """
    process TEXT NOT NULL, time REAL NOT NULL, run TEXT NOT NULL, stage TEXT NOT NULL,
    condition TEXT NOT NULL, call_id TEXT NOT NULL, provider TEXT NOT NULL, model TEXT NOT NULL,
    model_returned TEXT, task TEXT NOT NULL, attempt INTEGER NOT NULL, repeat INTEGER NOT NULL,
    outcome TEXT NOT NULL, reason TEXT, prompt_tokens INTEGER, completion_tokens INTEGER,
    cached_tokens INTEGER, usd REAL, latency_ms REAL NOT NULL, retries INTEGER NOT NULL, flags TEXT NOT NULL,
    charged_tokens INTEGER, charged_usd REAL"""
_ADDED = {"charged_tokens": "INTEGER", "charged_usd": "REAL"}
_NAMES = ", ".join(_COLUMNS)
_VALUES = f"(?, ?{', ?' * len(_COLUMNS)})"
_INSERT = f"INSERT INTO calls (process, time, {_NAMES}) VALUES {_VALUES}"  # noqa: S608
_RESERVE = f"INSERT INTO reserved (reservation, owner, process, time, {_NAMES}) VALUES (?, ?, {_VALUES[1:]}"  # noqa: S608
_SELECT = f"""
SELECT time, {_NAMES} FROM calls WHERE run = ? AND (? = '' OR process = ?) ORDER BY rowid LIMIT -1 OFFSET ?
"""  # noqa: S608
_TOTALS = """
SELECT COALESCE(SUM(outcome = 'paid'), 0), COALESCE(SUM(outcome = 'replayed'), 0),
       COALESCE(SUM(outcome = 'unusable'), 0), COALESCE(SUM(outcome = 'failed'), 0),
       COALESCE(SUM(retries), 0), COALESCE(SUM(prompt_tokens), 0), COALESCE(SUM(completion_tokens), 0),
       COALESCE(SUM(cached_tokens), 0), COALESCE(SUM(usd), 0.0),
       COALESCE(SUM(outcome IN ('paid', 'unusable') AND usd IS NULL), 0),
       COALESCE(SUM(outcome = 'lost'), 0), COALESCE(SUM((outcome = 'lost') * COALESCE(charged_usd, 0.0)), 0.0)
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
            CallRefused: If the disk is full; so do all methods that write.
        """
        self._path = folder / "ledger.sqlite"
        self._lock = threading.Lock()
        self._process = uuid.uuid4().hex
        self._alive = folder / "alive"
        self._lives: BinaryIO | None = None
        self._entered: set[int] = set()  # hashes: there may be millions
        self._replays: list[tuple[object, ...]] = []
        with told(self._path):
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._connection = sqlite3.connect(self._path, timeout=60, check_same_thread=False)
            self._connection.execute("PRAGMA journal_mode = WAL")
            self._connection.execute("PRAGMA synchronous = FULL")
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                self._create()

    def _create(self) -> None:
        self._connection.execute(f"CREATE TABLE IF NOT EXISTS calls ({_DECLARED})")
        there = {row[1] for row in self._connection.execute("PRAGMA table_info(calls)")}
        for column, kind in _ADDED.items():
            if column not in there:
                self._connection.execute(f"ALTER TABLE calls ADD COLUMN {column} {kind}")
        self._connection.execute("CREATE INDEX IF NOT EXISTS calls_run ON calls (run)")
        spending.create(self._connection, _DECLARED)
        self._lose_orphans()
        pace_history.create(self._connection)
        notes.create(self._connection)

    def reserve(self, entries: Sequence[Entry], budget: Budget, owner: str = "") -> Reservation | None:
        """Hold what calls may cost at worst, before they are sent; none if the budget is free for it only later.

        Args:
            entries: The rows that the calls become if nobody comes back from them, all of one run and stage.
            budget: The run's.
            owner: Who comes back from them; by default this process, so that its death ends the calls. All that is
                held for another owner is one reservation of the owner's name.

        Raises:
            BudgetExhausted: If the budget will never cover them.
        """
        worst = sum((Spent(1, e.charged_tokens or 0, e.charged_usd or 0.0) for e in entries), Spent())
        reservation, now = owner or uuid.uuid4().hex, time.time()
        with self._lock, told(self._path):
            self._live()
            with self._connection:
                self._connection.execute("BEGIN IMMEDIATE")
                run, stage = entries[0].run, entries[0].stage
                if not spending.covered(self._connection, run, stage, worst, budget):
                    self._lose_orphans()  # nobody comes back from those, to make room
                    return None
                rows = [(reservation, owner or self._process, *self._row(now, entry)) for entry in entries]
                self._connection.executemany(_RESERVE, rows)
        return reservation

    def _lose_orphans(self) -> None:
        spending.lose_orphans(self._connection, self._alive, ("process", "time", *_COLUMNS))

    def release(self, reservation: Reservation | None) -> None:
        """Give back what was held: the calls are known to cost nothing."""
        if reservation is not None:
            with self._lock, told(self._path), self._connection:
                self._connection.execute("DELETE FROM reserved WHERE reservation = ?", (reservation,))

    def in_batches(self) -> dict[Reservation, list[Entry]]:
        """The rows held for batches at providers, by owner; see `spending.BATCH`."""
        with self._lock:
            found = spending.in_batches(self._connection, _COLUMNS)
        return {owner: [_entry_of(row) for row in rows] for owner, rows in found.items()}

    def spent(self, run: str, stage: str = "") -> Spent:
        """What a run, or one of its stages, has spent so far, as a budget counts."""
        with self._lock:
            self._write([])
            return spending.spent(self._connection, "spent", run, stage)

    def _live(self) -> None:
        """Hold a lock on a file of this process's name until it ends, however it ends."""
        if self._lives is None:
            self._alive.mkdir(mode=0o700, exist_ok=True)
            self._lives = (self._alive / self._process).open("wb")
            fcntl.flock(self._lives, fcntl.LOCK_EX)

    def enter(self, entries: Sequence[Entry], settles: Reservation | None = None) -> None:
        """Add rows, all or none; on the disk when this returns, but for replays, which cost nothing.

        `settles` names what was held for these calls: it is given back, and what they cost is counted, at once.
        """
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
            if rows or settles or len(self._replays) >= _BUFFER:
                self._write(rows, settles)

    def add(self, rows: Sequence[tuple[str, float, Entry]]) -> None:
        """Add rows of other processes, each with the process and the time of its entry, all or none."""
        with self._lock:
            self._write([(process, *self._row(time, entry)[1:]) for process, time, entry in rows])

    def rows_by_process(self, run: str | None = None) -> dict[str, int]:
        """How many rows each process has entered, of a run or of all."""
        counts = "SELECT process, COUNT(*) FROM calls WHERE ?1 IS NULL OR run = ?1 GROUP BY process"
        with self._lock:
            self._write([])
            return dict(self._connection.execute(counts, (run,)))

    def enter_pace(self, run: str, event: PaceEvent) -> None:
        """Add a change of the pace at which a provider is asked."""
        with self._lock, told(self._path), self._connection:
            pace_history.add(self._connection, self._process, run, event)

    def pace(self, run: str) -> pa.Table:
        """The `pace` table of a run; see `tasks.models.pace_history`."""
        with self._lock:
            return pace_history.rows(self._connection, run)

    def note(self, run: str, kind: notes.Kind, found: Iterable[str]) -> None:
        """Tell all processes of a run what this one has met; see `tasks.models.notes`."""
        with self._lock, told(self._path), self._connection:
            notes.add(self._connection, run, kind, found)

    def noted(self, run: str, kind: notes.Kind) -> list[str]:
        """What processes of a run have met in its latest attempt."""
        with self._lock:
            return notes.of(self._connection, run, kind)

    def clear_notes(self, run: str) -> None:
        """A new attempt of a run begins."""
        with self._lock, told(self._path), self._connection:
            notes.clear(self._connection, run)

    def flush(self) -> None:
        """Write the replays that are waiting."""
        with self._lock:
            self._write([])

    def totals(self, run: str | None = None, *, now: bool = False) -> Totals:
        """Sums over a run (or all, if none is named): `now` over this process's rows only, else ever."""
        with self._lock:
            self._write([])
            wanted = {"run": run, "process": self._process if now else None}
            return Totals(*self._connection.execute(_TOTALS, wanted).fetchone())

    def rows(self, run: str, process: str = "", after: int = 0) -> pa.Table:
        """The `calls` table of a run, in the order of entry; see `SCHEMA`.

        Where a process is named, only its rows, after so many of them.
        """
        with self._lock:
            self._write([])
            rows = self._connection.execute(_SELECT, (run, process, process, after)).fetchall()
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
            if self._lives is not None:
                (self._alive / self._process).unlink(missing_ok=True)
                self._lives.close()

    def _row(self, now: float, entry: Entry) -> tuple[object, ...]:
        values = [getattr(entry, column) for column in _COLUMNS[:-1]]
        return (self._process, now, *values, " ".join(entry.flags))

    def _write(self, rows: list[tuple[object, ...]], settles: Reservation | None = None) -> None:
        if not rows and not self._replays and settles is None:
            return
        with told(self._path), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("DELETE FROM reserved WHERE reservation = ?", (settles,))
            first = self._connection.execute("SELECT COALESCE(MAX(rowid), 0) + 1 FROM calls").fetchone()[0]
            self._connection.executemany(_INSERT, self._replays + rows)
            spending.add(self._connection, first)
        self._replays = []


def _entry_of(row: Sequence[Any]) -> Entry:
    values = dict(zip(_COLUMNS, row, strict=True))
    return Entry(**values | {"flags": tuple(values["flags"].split())})
