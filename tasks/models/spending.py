"""What runs have spent and what their calls under way may cost, in the ledger's file: one truth for all processes.

`spent` holds the sums of `calls` by run and stage. A row of `reserved` is the row of `calls` that a call becomes if
nobody comes back from it: sent, no reply seen, charged at its worst case. All functions work inside a transaction of
the caller's, beside which nobody else can write (BEGIN IMMEDIATE).
"""

from __future__ import annotations

import fcntl
import re
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from memory.errors import BudgetExhausted
from tasks.models.budget import Budget, Cap, Spent

BATCH = "batch "
"""How the name of an owner begins that is a batch at a provider: it outlives every process."""
BOUGHT = "('paid', 'unusable', 'lost')"
"""Outcomes that count against a budget."""

_PROCESS = re.compile(r"[0-9a-f]{32}")
_SUMS = f"""
SELECT run, stage, SUM(outcome IN {BOUGHT}),
       SUM(CASE WHEN outcome NOT IN {BOUGHT} THEN 0 ELSE
           COALESCE(charged_tokens, COALESCE(prompt_tokens, 0) + COALESCE(completion_tokens, 0)) END),
       SUM(CASE WHEN outcome NOT IN {BOUGHT} THEN 0 ELSE COALESCE(charged_usd, usd, 0.0) END)
"""
_UPSERT = """
ON CONFLICT (run, stage) DO UPDATE SET calls = calls + excluded.calls, tokens = tokens + excluded.tokens,
    usd = usd + excluded.usd
"""


def create(connection: sqlite3.Connection, columns: str) -> None:
    """Make the tables where they are not there; `columns` declares those of `calls`."""
    connection.execute(
        f"CREATE TABLE IF NOT EXISTS reserved (reservation TEXT NOT NULL, owner TEXT NOT NULL, {columns})"
    )
    there = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'spent'").fetchone()
    if there is None:
        connection.execute(
            "CREATE TABLE spent (run TEXT NOT NULL, stage TEXT NOT NULL, calls INTEGER NOT NULL,"
            " tokens INTEGER NOT NULL, usd REAL NOT NULL, PRIMARY KEY (run, stage))"
        )
        connection.execute(f"INSERT INTO spent {_SUMS} FROM calls GROUP BY run, stage")


def add(connection: sqlite3.Connection, first: int) -> None:
    """Add the rows of `calls` from a row id on to the sums."""
    connection.execute(
        f"INSERT INTO spent {_SUMS} FROM calls WHERE rowid >= ? GROUP BY run, stage {_UPSERT}", (first,)
    )


def spent(connection: sqlite3.Connection, table: str, run: str, stage: str, owners: str = "%") -> Spent:
    """Sums over a run, or one of its stages, of `spent`, or of `reserved` by owners (as in LIKE)."""
    columns = "calls, tokens, usd" if table == "spent" else "1, charged_tokens, charged_usd"
    calls, tokens, usd = (f"COALESCE(SUM({column}), 0)" for column in columns.split(", "))
    where = "run = :run" + (" AND stage = :stage" if stage else "")
    where += " AND owner LIKE :owners" if table == "reserved" else ""
    found = connection.execute(
        f"SELECT {calls}, {tokens}, {usd} FROM {table} WHERE {where}",  # noqa: S608
        {"run": run, "stage": stage, "owners": owners},
    ).fetchone()
    return Spent(int(found[0]), int(found[1]), float(found[2]))


def covered(connection: sqlite3.Connection, run: str, stage: str, worst: Spent, budget: Budget) -> bool:
    """Whether a budget covers calls that may cost so much: false if it will once others under way have settled.

    Raises:
        BudgetExhausted: If it never will.
    """
    free = True
    for name, cap in budget.caps(stage):
        gone = spent(connection, "spent", run, name)
        # Nobody waits here for a batch to settle: that takes up to a day, and somebody who comes back for it.
        batches = spent(connection, "reserved", run, name, f"{BATCH}%")
        if limit := cap.exceeded(gone + batches + worst):
            raise BudgetExhausted(_refusal(name, cap, limit, gone, worst) + _in_batches(batches), name)
        held = spent(connection, "reserved", run, name)
        free = free and not cap.exceeded(gone + held + worst)
    return free


def _in_batches(held: Spent) -> str:
    if not held.calls:
        return ""
    return f"; {held.calls:,} calls in batches hold {held.tokens:,} tokens, ${held.usd:.4f}, till --batch collects them"


def in_batches(connection: sqlite3.Connection, columns: Sequence[str]) -> dict[str, list[tuple[Any, ...]]]:
    """The columns wanted of all rows that batches will come back from, by owner."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    wanted = f"SELECT owner, {', '.join(columns)} FROM reserved WHERE owner LIKE '{BATCH}%' ORDER BY rowid"  # noqa: S608
    for owner, *row in connection.execute(wanted):
        found.setdefault(owner, []).append(tuple(row))
    return found


def _refusal(stage: str, cap: Cap, limit: str, gone: Spent, worst: Spent) -> str:
    used, next_call = f"{gone.calls:,} calls are made", "the next needs one more"
    if limit.endswith("tokens"):
        used, next_call = f"{gone.tokens:,} are spent", f"the next call may take {worst.tokens:,}"
    elif limit.startswith("$"):
        used, next_call = f"${gone.usd:.4f} is spent", f"the next call may cost ${worst.usd:.4f}"
    of = f"stage {stage}" if stage else "the run"
    return f"budget of {of} exhausted: of {limit}, {used} and {next_call}"


def lose_orphans(connection: sqlite3.Connection, alive: Path, columns: Sequence[str]) -> None:
    """Enter the calls that dead processes had under way as lost: they may have been billed."""
    for (owner,) in connection.execute("SELECT DISTINCT owner FROM reserved").fetchall():
        if owner.startswith(BATCH) or _lives(alive, owner):
            continue
        first = connection.execute("SELECT COALESCE(MAX(rowid), 0) + 1 FROM calls").fetchone()[0]
        names = ", ".join(columns)
        moved = f"INSERT INTO calls ({names}) SELECT {names} FROM reserved WHERE owner = ?"  # noqa: S608
        connection.execute(moved, (owner,))
        connection.execute("DELETE FROM reserved WHERE owner = ?", (owner,))
        add(connection, first)


def _lives(alive: Path, owner: str) -> bool:
    """Whether the process of that name holds the lock on its file; the system lifts it when the process dies."""
    if not _PROCESS.fullmatch(owner):
        return False
    try:
        with (alive / owner).open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False
