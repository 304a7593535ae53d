"""Whole studies bought in batches, over real HTTP: the same tables as live, few batches, and nothing sent twice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from flows.console import line
from memory.errors import BadInput
from tasks import collecting
from tasks.models.batch import Polling
from tasks.models.catalogue import BUNDLES
from tasks.progress import PROGRESS
from tests.flows.fake_llm import in_the_place_of_providers
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer

STUDY: dict[str, Any] = {
    "conditions": conditions("flat", "graph", "oracle"),
    "models": BUNDLES["published"].model_dump(),
    "resamples": 100,
}
SCRIPT = """
import json, sys
from pathlib import Path
from tests.flows.study_in_loop import run_in_loop

run_in_loop(Path(sys.argv[1]), **json.loads(sys.argv[2]))
"""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    monkeypatch.setattr(collecting, "POLLING", Polling(sleep=lambda seconds: None))
    with in_the_place_of_providers(monkeypatch, "sk-test-key-0123456789") as fake:
        yield fake


def run(folder: Path, **fields: Any) -> Watched:
    return run_in_loop(folder, **{**STUDY, **fields})


def again(folder: Path, **fields: Any) -> Watched:
    """The study once more, with every stage made anew from the store."""
    (folder / "run" / "run.json").unlink()
    for part in (folder / "run" / "parts").rglob("*.json"):
        part.unlink()
    return run(folder, **fields)


def chats(server: FakeServer) -> int:
    return server.count("/chat/completions")


def same_tables(one: Watched, other: Watched) -> bool:
    names = ("metrics", "answers", "verdicts", "extractions", "table_7")
    volatile = ["latency_ms"]
    return all(
        one.table(name)
        .drop(columns=volatile, errors="ignore")
        .equals(other.table(name).drop(columns=volatile, errors="ignore"))
        for name in names
    )


def test_a_study_in_batches_gives_the_tables_of_a_live_one_at_half_the_price_and_each_replays_the_other(
    server: FakeServer, tmp_path: Path
) -> None:
    in_batches = run(tmp_path / "batches", batch=True)
    assert in_batches.run.status == "complete"
    assert chats(server) == 0
    asked = in_batches.table("calls").query("flags == 'batch'").groupby("stage", sort=False)
    assert list(asked.groups) == ["extract", "recall", "answer", "judge"]
    assert [len(made.lines) for made in server.batches.created] == [len(calls) for _, calls in asked]

    live = run(tmp_path / "live")
    assert len(server.batches.created) == 4
    assert chats(server) == len(server.batches.sent()) == server.batches.billed
    assert same_tables(in_batches, live)
    assert in_batches.table("calls")["usd"].sum() == pytest.approx(live.table("calls")["usd"].sum() / 2)

    sent = chats(server)
    assert same_tables(again(tmp_path / "batches"), live)
    assert same_tables(again(tmp_path / "live", batch=True), live)
    assert chats(server) == sent
    assert len(server.batches.created) == 4


def test_a_study_that_is_killed_while_it_waits_goes_on_with_the_batch_that_it_has_sent(
    server: FakeServer, tmp_path: Path
) -> None:
    server.batches.then(*["in_progress"] * 10_000)
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", SCRIPT, str(tmp_path), json.dumps({**STUDY, "batch": True})]
    for _ in range(2):
        looks = server.count("/batches/batch_0")
        process = subprocess.Popen(command, cwd=root, env=os.environ | {"PYTHONPATH": str(root)})
        while server.count("/batches/batch_0") < looks + 2 and process.poll() is None:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL
    server.batches.created[0].looks = deque(["completed"])
    finished = run(tmp_path, batch=True)
    assert finished.run.status == "complete"
    assert len(server.batches.created) == 4
    assert len(server.batches.sent()) == len(set(server.batches.sent())) == server.batches.billed
    assert chats(server) == 0
    calls = finished.table("calls")
    assert (calls["outcome"] == "paid").sum() == calls.query("outcome == 'paid'")["call_id"].nunique()


def test_a_study_whose_batches_expire_is_finished_live(server: FakeServer, tmp_path: Path) -> None:
    server.batches.answers_only(5)
    for _ in range(8):
        server.batches.then("in_progress", "expired")
    finished = run(tmp_path, batch=True)
    assert finished.run.status == "complete"
    assert len(server.batches.created) == 8
    assert server.batches.billed == 40
    assert (
        server.batches.billed + chats(server)
        == finished.table("calls").query("outcome == 'paid' and task != 'embed'")["call_id"].nunique()
    )


def test_a_budget_is_kept_in_batches_and_the_same_command_with_more_goes_on(
    server: FakeServer, tmp_path: Path
) -> None:
    first = run(tmp_path, batch=True, budget={"calls": 100})
    assert first.run.status == "budget_exhausted"
    assert server.batches.billed == 100
    assert chats(server) == 0
    second = run(tmp_path, batch=True)
    assert second.run.status == "complete"
    assert len(server.batches.sent()) == len(set(server.batches.sent())) == server.batches.billed


def test_batches_are_refused_where_no_model_has_them_and_noted_where_some_have_not(
    server: FakeServer, tmp_path: Path
) -> None:
    with pytest.raises(
        BadInput, match="--batch: no model of the study has a batch interface; openai has one"
    ):
        run(tmp_path, batch=True, models=BUNDLES["offline"].model_dump())
    mixed = {**BUNDLES["offline"].model_dump(), "judge": "openai:gpt-4o-mini"}
    finished = run(tmp_path, batch=True, models=mixed)
    assert [len(made.lines) for made in server.batches.created] == [
        (finished.table("calls")["flags"] == "batch").sum()
    ]
    assert finished.run.notes[-1] == (
        "asked live, for want of a batch interface: extractor offline:noun-phrases, "
        "query offline:noun-phrases, answerer offline:extractive"
    )


def test_a_display_says_what_is_waited_for() -> None:
    PROGRESS.wait_for("openai batch batch_0 is in_progress: 3 of 10 calls")
    try:
        assert line(time.monotonic()) == "openai batch batch_0 is in_progress: 3 of 10 calls; 0 s"
    finally:
        PROGRESS.wait_for("")
