"""A study on a Dask cluster whose workers share nothing but an S3 bucket: the same tables, nothing paid twice."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from prefect.client.schemas.objects import State
from prefect.testing.utilities import prefect_test_harness

from flows.representation import representation
from flows.runners import WORKERS
from memory.errors import BadInput
from tasks.kinds import make_study
from tasks.models.budget import Budget
from tasks.models.pace import Ceilings
from tasks.runs import read_run
from tasks.start import check_budget
from tasks.worker import FOLDER
from tests.flows.fake_llm import in_the_place_of_providers
from tests.flows.study_in_loop import conditions, run_in_loop
from tests.tasks.models.fakes import FakeServer, Request

distributed = pytest.importorskip("distributed", reason="pip install 'palimpsest[cluster]'")
moto_server = pytest.importorskip("moto.server", reason="pip install 'palimpsest[cluster]'")
s3fs = pytest.importorskip("s3fs", reason="pip install 'palimpsest[cluster]'")
pytest.importorskip("prefect_dask", reason="pip install 'palimpsest[cluster]'")

pytestmark = pytest.mark.cluster

FIELDS: dict[str, Any] = {
    "conditions": conditions("flat", "graph"),
    "models": {
        **dict.fromkeys(("extractor", "query", "answerer", "judge"), "openai:gpt-4o-mini"),
        "embedder": "ollama:nomic-embed-text",
    },
    "limit": 8,
    "resamples": 100,
}
TABLES = {
    "metrics": ["question", "condition", "status", "judge", "turn_recall_5", "f1"],
    "extractions": ["content", "status", "nodes", "edges"],
    "verdicts": ["question", "condition", "status", "correct"],
}


@pytest.fixture(scope="module", autouse=True)
def prefect_server() -> Iterator[None]:
    with prefect_test_harness(server_startup_timeout=180):
        yield


@pytest.fixture
def provider(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The URL of an empty bucket of a server that speaks S3."""
    server = moto_server.ThreadedMotoServer(port=0)
    server.start()
    host, port = server.get_host_and_port()
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    s3fs.S3FileSystem.clear_instance_cache()
    s3fs.S3FileSystem(skip_instance_cache=True).mkdir(f"studies-{port}")
    yield f"s3://studies-{port}/prefix"
    server.stop()


@contextmanager
def two_machines(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cluster of two worker processes, each with folders of its own."""
    workers = {
        name: {
            "cls": distributed.Nanny,
            "options": {"nthreads": 1, "env": {FOLDER: str(folder / name)}, "local_directory": str(folder)},
        }
        for name in ("one", "two")
    }
    scheduler = {"cls": distributed.Scheduler, "options": {"dashboard_address": ":0"}}
    with distributed.SpecCluster(workers=workers, scheduler=scheduler) as cluster:
        monkeypatch.setenv("DASK_SCHEDULER_ADDRESS", cluster.scheduler_address)
        yield cluster


def run(folder: Path, url: str) -> State[Any]:
    study = make_study({**FIELDS, "runner": "dask", "shared": url})
    state: State[Any] = representation(
        study, store=str(folder / "store"), out=str(folder / "run"), outside=True, return_state=True
    )
    return state


def rows(folder: Path, table: str) -> pd.DataFrame:
    columns = TABLES[table]
    found = pd.read_parquet(folder / f"{table}.parquet")[columns]
    return found.sort_values(columns[:2], ignore_index=True)


def calls(folder: Path) -> pd.DataFrame:
    return pd.read_parquet(folder / "calls.parquet")


def test_two_machines_make_the_tables_that_one_makes_and_ask_nothing_twice(
    provider: FakeServer, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = run_in_loop(tmp_path / "alone", **FIELDS)
    asked_alone = len(provider.answered)
    with two_machines(tmp_path / "machines", monkeypatch):
        state = run(tmp_path, bucket)
    assert state.is_completed(), state.message
    for table in TABLES:
        pd.testing.assert_frame_equal(rows(tmp_path / "run", table), rows(alone.folder, table))
    assert len(provider.answered) == 2 * asked_alone
    bought = [frame[frame["outcome"] == "paid"] for frame in (calls(tmp_path / "run"), calls(alone.folder))]
    assert sorted(bought[0]["call_id"]) == sorted(bought[1]["call_id"])
    worked = [name for name in ("one", "two") if any((tmp_path / "machines" / name / "runs").rglob("*.json"))]
    assert worked == ["one", "two"], "both machines have done works, each in its own folder"


def test_a_worker_that_is_killed_costs_no_more_than_its_calls_in_flight(
    provider: FakeServer, bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answered = threading.Semaphore(0)

    def count(request: Request) -> None:
        answered.release()

    provider.on_answered = count
    killed: list[int] = []

    def kill_one(cluster: Any) -> None:
        for _ in range(40):
            answered.acquire()
        busy = [worker for worker in cluster.scheduler.workers.values() if worker.processing]
        pid = cluster.workers[busy[0].name].pid
        killed.append(pid)
        os.kill(pid, signal.SIGKILL)

    with two_machines(tmp_path / "machines", monkeypatch) as cluster:
        killer = threading.Thread(target=kill_one, args=(cluster,), daemon=True)
        killer.start()
        state = run(tmp_path, bucket)
        if not state.is_completed():
            state = run(tmp_path, bucket)
        killer.join()
    assert killed
    assert state.is_completed(), state.message
    assert read_run(tmp_path / "run").status == "complete"
    distinct = {(request.path, str(request.body)) for request, _ in provider.answered}
    assert len(provider.answered) <= len(distinct) + WORKERS * Ceilings().max_concurrency
    alone = run_in_loop(tmp_path / "alone", **FIELDS)
    for table in TABLES:
        pd.testing.assert_frame_equal(rows(tmp_path / "run", table), rows(alone.folder, table))


def test_a_budget_that_machines_could_not_keep_together_is_refused() -> None:
    study = make_study({"runner": "dask", "shared": "s3://studies/x", "budget": Budget(calls=9), "limit": 3})
    with pytest.raises(BadInput, match="machines that share a run do not see in time what the others spend"):
        check_budget(study)
