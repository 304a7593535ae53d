"""`palimpsest run` as a user types it: a process of its own, Prefect's home new, real HTTP to a fake provider."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pandas as pd
import pytest

from tasks.runs import read_run
from tests.flows.fake_llm import kind_of, reply
from tests.tasks.models.fakes import FakeServer

# As `python -m flows.cli`; but a suite that runs in the background ignores SIGINT, and its children would inherit that.
PROGRAM = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("flows.cli", run_name="__main__", alter_sys=True)
"""
WORDS = ["run", "representation", "--models", "published", "--systems", "flat,graph"]


@pytest.fixture
def server() -> Iterator[FakeServer]:
    with FakeServer(dimensions=768) as fake:
        fake.always(reply)
        yield fake


@pytest.fixture(scope="module")
def prefect_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One home for all tests here: a new one costs a database's migration."""
    return tmp_path_factory.mktemp("prefect")


@pytest.fixture
def shell(server: FakeServer, tmp_path: Path, prefect_home: Path) -> Iterator[dict[str, str]]:
    """The environment of the user's shell; what is left of a killed run's Prefect server is ended at the end."""
    mark = f"palimpsest-test-{os.getpid()}-{time.time_ns()}"
    yield {
        "PATH": os.environ["PATH"],
        "HOME": str(tmp_path),
        "PREFECT_HOME": str(prefect_home),
        "OPENAI_API_KEY": "sk-fake",
        "OPENAI_BASE_URL": server.openai,
        "OLLAMA_HOST": server.ollama,
        "PALIMPSEST_TEST": mark,
    }
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                os.kill(int(process.name), signal.SIGKILL)
        except OSError:
            continue


def start(folder: Path, shell: dict[str, str], *words: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *(words or WORDS)],
        cwd=folder,
        env=shell,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def run(folder: Path, shell: dict[str, str], *words: str) -> tuple[int, str, str]:
    process = start(folder, shell, *words)
    out, error = process.communicate(timeout=300)
    return process.returncode, out, error


def run_folder(folder: Path) -> Path:
    return next((folder / "results" / "runs").iterdir())


def test_a_run_prints_its_table_and_no_noise_and_the_same_command_again_pays_nothing(
    server: FakeServer, shell: dict[str, str], tmp_path: Path
) -> None:
    code, out, error = run(tmp_path, shell)
    assert (code, error) == (0, "")
    assert "graph - flat" in out
    assert "Parquet:" in out
    assert f"report: {run_folder(tmp_path) / 'report.html'}" in out
    assert (run_folder(tmp_path) / "report.html").stat().st_size > 10_000
    assert "Traceback" not in out
    assert "prefect" not in out.lower().replace("starting prefect", "")
    sent = server.count()
    log = (run_folder(tmp_path) / "prefect.log").read_text()
    assert "Traceback" not in log
    assert " ERROR " not in log

    shutil.rmtree(shell["PREFECT_HOME"])
    code, out, error = run(tmp_path, shell)
    assert (code, error) == (0, "")
    assert out.startswith("complete:")
    assert server.count() == sent

    # The same with all of the run's parts lost: every stage is made anew from what was bought.
    shutil.rmtree(tmp_path / "results" / "runs")
    code, out, error = run(tmp_path, shell)
    assert (code, error) == (0, "")
    assert server.count() == sent


def test_a_killed_run_goes_on_and_pays_again_for_no_more_than_was_in_flight(
    server: FakeServer, shell: dict[str, str], tmp_path: Path
) -> None:
    process = start(tmp_path, shell)
    deadline = time.monotonic() + 300
    while sum("messages" in request.body for request in server.requests) < 150:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.kill()
    process.wait()
    code, _, error = run(tmp_path, shell)
    assert (code, error) == (0, "")
    extractions = [r.user for r in server.requests if "messages" in r.body and kind_of(r) == "extract"]
    in_flight = 8
    assert len(extractions) - len(set(extractions)) <= in_flight
    turns = pd.read_parquet(run_folder(tmp_path) / "turns.parquet")
    assert len(set(extractions)) == turns["content"].nunique()


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
def test_an_interrupted_run_says_so_in_one_line_and_is_recorded_as_stopped(
    server: FakeServer, shell: dict[str, str], tmp_path: Path, sent: signal.Signals
) -> None:
    process = start(tmp_path, shell)
    deadline = time.monotonic() + 300
    while server.count() < 100:
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.send_signal(sent)
    _, error = process.communicate(timeout=300)
    assert error == "stopped: interrupted; what is bought is kept, the same command goes on\n"
    assert process.returncode == 3
    assert read_run(run_folder(tmp_path)).status == "stopped"


def test_a_provider_that_is_down_ends_the_run_with_one_line_and_its_own_code(
    server: FakeServer, shell: dict[str, str], tmp_path: Path
) -> None:
    code, _, error = run(tmp_path, {**shell, "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"})
    assert code == 3
    assert error.startswith("stopped: stage extract:")
    assert "Traceback" not in error
    assert run(tmp_path, shell)[0] == 0
