"""The ledger holds one row a call, for good, and sums them for this process and for ever."""

from __future__ import annotations

import sqlite3
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from memory.errors import BadInput, BudgetExhausted
from tasks.models.budget import Budget, Spent
from tasks.models.ledger import SCHEMA, Entry, Ledger

ENTRY = Entry(
    run="r",
    stage="answer",
    condition="flat",
    call_id="id0",
    provider="openai",
    model="gpt-4o-mini",
    model_returned="gpt-4o-mini-2024-07-18",
    task="answer",
    attempt=0,
    repeat=0,
    outcome="paid",
    prompt_tokens=100,
    completion_tokens=20,
    cached_tokens=40,
    usd=0.5,
    latency_ms=12.5,
    retries=1,
    flags=("input_cut", "model_differs"),
)


def test_rows_come_back_in_order_with_the_declared_schema(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    assert ledger.rows("r").schema == SCHEMA
    assert ledger.rows("r").num_rows == 0
    ledger.enter(
        [ENTRY, replace(ENTRY, call_id="id1", outcome="failed", reason="HTTP 500", model_returned=None)]
    )
    table = ledger.rows("r")
    assert table.schema == SCHEMA
    table.validate(full=True)
    assert table.column("call_id").to_pylist() == ["id0", "id1"]
    assert table.column("flags").to_pylist()[0] == "input_cut model_differs"
    assert table.column("time").to_pylist()[0].year >= 2024


def test_a_paid_row_is_on_the_disk_when_enter_returns(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.enter([ENTRY])
    with sqlite3.connect(tmp_path / "ledger.sqlite") as other:
        assert other.execute("SELECT COUNT(*) FROM calls").fetchone() == (1,)


def test_totals_tell_now_from_ever_and_run_from_run(tmp_path: Path) -> None:
    first = Ledger(tmp_path)
    first.enter([ENTRY, replace(ENTRY, call_id="id1", outcome="unusable", usd=None)])
    first.enter([replace(ENTRY, run="other")])
    first.close()
    ledger = Ledger(tmp_path)
    ledger.enter([replace(ENTRY, outcome="replayed", usd=0.0, prompt_tokens=None)])
    ever, now = ledger.totals("r"), ledger.totals("r", now=True)
    assert (ever.paid, ever.unusable, ever.replayed, ever.usd, ever.unpriced) == (1, 1, 1, 0.5, 1)
    assert (ever.prompt_tokens, ever.cached_tokens) == (200, 120)
    assert (now.paid, now.unusable, now.replayed, now.usd, now.unpriced) == (0, 0, 1, 0.0, 0)
    assert ledger.totals().paid == 2


def test_a_replay_is_one_row_for_each_process_stage_and_condition(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    replay = replace(ENTRY, outcome="replayed", usd=0.0)
    ledger.enter([replay] * 5)
    ledger.enter([replay, replace(replay, condition="graph"), replace(replay, stage="embed")])
    assert ledger.totals("r").replayed == 3
    ledger.enter([ENTRY, ENTRY])
    assert ledger.totals("r").paid == 2


def test_a_price_that_is_not_known_stays_unknown(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.enter([replace(ENTRY, usd=None)])
    assert ledger.rows("r").column("usd").to_pylist() == [None]
    assert ledger.totals("r").unpriced == 1


def test_threads_may_enter_at_once(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)

    def work(thread: int) -> None:
        for row in range(25):
            ledger.enter([replace(ENTRY, call_id=f"{thread}.{row}")])

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.totals("r").paid == 100


def test_a_file_that_is_no_ledger_is_one_clear_line(tmp_path: Path) -> None:
    (tmp_path / "ledger.sqlite").write_bytes(b"not SQLite at all" * 100)
    with pytest.raises(BadInput, match=r"ledger\.sqlite is damaged .* a new --store"):
        Ledger(tmp_path)


def test_what_a_process_held_when_it_died_is_charged_though_no_call_follows(tmp_path: Path) -> None:
    under_way = replace(ENTRY, outcome="lost", charged_tokens=100, charged_usd=1.0)
    dead = Ledger(tmp_path)
    assert dead.reserve([under_way], Budget(tokens=150)) is not None
    dead.close()
    ledger = Ledger(tmp_path)
    assert ledger.spent("r") == Spent(1, 100, 1.0)
    assert ledger.rows("r")["outcome"].to_pylist() == ["lost"]
    with pytest.raises(BudgetExhausted, match="of 150 tokens, 100 are spent"):
        ledger.reserve([under_way], Budget(tokens=150))
    assert ledger.spent("r") == Spent(1, 100, 1.0)
    ledger.close()
