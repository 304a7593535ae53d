"""Deployments on a real server with a real worker: the form's refusals, what the UI is shown, and what a stop costs."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tasks.runs import read_run
from tests.flows.served import (
    IN_FLIGHT,
    STUDY,
    Served,
    bought_again,
    environment_of,
    serving,
    slowly,
    wait_for,
)
from tests.tasks.models.fakes import FakeServer

pytestmark = pytest.mark.server


@pytest.fixture(scope="module")
def fake() -> Iterator[FakeServer]:
    with FakeServer(dimensions=768) as server:
        server.always(slowly)
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def served(folder: Path, fake: FakeServer) -> Iterator[Served]:
    with serving(folder, environment_of(folder, fake)) as found:
        yield found


def begun(served: Served, fake: FakeServer, name: str) -> tuple[str, int]:
    """A run that is caught in the middle of its extractions, and how many requests came before it."""
    since = len(fake.requests)
    run = served.start(study=STUDY, store=f"{name}-store", out=name)
    wait_for(lambda: len(fake.requests) > since + 50)
    return run, since


def assert_went_on(served: Served, fake: FakeServer, name: str, run: str, since: int) -> None:
    assert served.ended(run)["state_name"] == "Completed"
    assert read_run(served.folder / name).status == "complete"
    assert bought_again(fake, since) <= IN_FLIGHT


BAD: list[tuple[dict[str, Any], str]] = [
    ({"benchmark": "nonsense"}, "study.benchmark"),
    ({"limit": 0}, "study.limit"),
    ({"judge": "me"}, "study.judge"),
    ({"models": "chatgpt"}, "study.models"),
    ({"conditions": [{"system": "graf"}]}, "study.conditions[0].system"),
    ({"conditions": [{"system": "graph", "profile": "best"}]}, "study.conditions[0].profile"),
    ({"budget": {"usd": -1}}, "study.budget.usd"),
    ({"resamples": 1}, "study.resamples"),
    ({"no_such_field": 1}, "study"),
]


def test_a_bad_value_is_refused_by_the_form_and_no_run_is_made(served: Served) -> None:
    for study, field in BAD:
        refused = served.submit("representation/smoke", study=study)
        assert refused.status_code == 409
        assert f"'{field}'" in refused.json()["detail"]
    assert served.post("/flow_runs/count") == 0


def test_every_deployment_is_there_with_its_pool_its_words_and_one_run_at_a_time(served: Served) -> None:
    found = {f"{d['tags'][0]}/{d['name']}": d for d in served.post("/deployments/filter")}
    assert set(found) == {
        "representation/smoke",
        "representation/longmemeval",
        "representation/locomo",
        "forgetting/longmemeval",
        "rejudge/rejudge",
    }
    for deployment in found.values():
        assert deployment["work_pool_name"] == "palimpsest"
        assert deployment["description"]
        assert deployment["enforce_parameter_schema"]
        assert deployment["global_concurrency_limit"]["limit"] == 1


def test_a_run_shows_what_it_is_about_and_the_same_again_is_cached_and_asks_nothing(
    served: Served, fake: FakeServer
) -> None:
    study = {**STUDY, "limit": 3}
    run = served.ended(served.start(study=study, out="shown"))
    assert (run["state_name"], run["name"]) == ("Completed", "representation on sample, limit 3")
    folder = served.folder / "shown"
    assert read_run(folder).status == "complete"
    assert (folder / "report.html").exists()

    shown = {a["key"]: a for a in served.of_run("artifacts", run["id"]) if a["key"]}
    kinds = {key.removeprefix("representation-sample-"): found["type"] for key, found in shown.items()}
    assert kinds == {
        "progress": "progress",
        "conditions": "table",
        "spending": "table",
        "failures": "table",
        "report": "markdown",
    }
    assert shown["representation-sample-progress"]["data"] == 100
    rows = json.loads(shown["representation-sample-conditions"]["data"])
    assert [row["Condition"] for row in rows] == ["flat", "graph"]
    assert all(row["n"] == "3" and re.fullmatch(r"\d\.\d+ \[.+, .+\]", row["F1 [95 %]"]) for row in rows)
    assert str(folder / "report.html") in shown["representation-sample-report"]["data"]

    works = 3 + 1 + 2 * 4 + 1
    tasks = wait_for(lambda: [t for t in [served.of_run("task_runs", run["id"])] if len(t) == works])[0]
    names = {task["name"] for task in tasks}
    assert {"extract 0000 (1 of 1): turns from 1", "answer graph-0000 (2 of 2)"} <= names

    sent = fake.count()
    again = served.ended(served.start(study=study, out="shown"))
    assert again["state_name"] == "Completed"
    assert fake.count() == sent


def test_a_run_that_is_cancelled_is_stopped_and_whole_and_its_retry_pays_nothing_again(
    served: Served, fake: FakeServer
) -> None:
    run, since = begun(served, fake, "cancelled")
    served.set_state(run, "CANCELLING", "Cancelling")
    assert served.ended(run)["state_name"] == "Cancelled"
    stopped = read_run(served.folder / "cancelled")
    assert (stopped.status, stopped.reason) == ("stopped", "cancelled, or told to end")
    for file in (served.folder / "cancelled").rglob("*.parquet"):
        pq.read_table(file)
    served.set_state(run, "SCHEDULED", "AwaitingRetry")
    wait_for(lambda: served.run(run)["run_count"] == 2)
    assert_went_on(served, fake, "cancelled", run, since)


def test_a_run_whose_process_is_killed_has_crashed_and_a_new_one_goes_on(
    served: Served, fake: FakeServer
) -> None:
    run, since = begun(served, fake, "killed")
    served.kill("prefect.engine")
    assert served.ended(run)["state_name"] == "Crashed"
    again = served.start(study=STUDY, store="killed-store", out="killed")
    assert_went_on(served, fake, "killed", again, since)


def test_a_lost_worker_ends_everything_and_after_a_power_cut_the_next_server_tells_and_goes_on(
    folder: Path, fake: FakeServer, served: Served
) -> None:
    run, since = begun(served, fake, "lost")
    served.kill()
    served.process.wait()
    with serving(folder, environment_of(folder, fake)) as later:
        crashed = later.run(run)
        assert crashed["state_name"] == "Crashed"
        assert "goes on" in crashed["state"]["message"]
        later.set_state(run, "SCHEDULED", "AwaitingRetry")
        wait_for(lambda: later.run(run)["run_count"] == 2)
        assert_went_on(later, fake, "lost", run, since)

        begun(later, fake, "orphaned")
        later.kill("worker")
        assert later.process.wait(120) == 2
        assert "error: Prefect's worker ended by itself" in later.said
        assert later.processes() == []
        assert read_run(folder / "orphaned").status == "stopped"
