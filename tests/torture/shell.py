"""`palimpsest` as a user types it, in processes that may be killed, beside one Prefect server that stands."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.tasks.models.fakes import FakeServer

# As `python -m flows.cli`; but a suite that runs in the background ignores SIGINT, and its children would inherit that.
PROGRAM = """
import runpy, signal
signal.signal(signal.SIGINT, signal.default_int_handler)
runpy.run_module("flows.cli", run_name="__main__", alter_sys=True)
"""
ROOT = Path(__file__).parents[2]
MARK = "PALIMPSEST_TORTURE"


@dataclass(frozen=True)
class Shell:
    """A user's shell in a folder of its own: where its commands run, and their environment."""

    folder: Path
    environment: dict[str, str]

    def start(self, *words: str) -> subprocess.Popen[bytes]:
        """Start `palimpsest` with these words; what it prints goes to the files `out` and `error`."""
        with (self.folder / "out").open("wb") as out, (self.folder / "error").open("wb") as error:
            return subprocess.Popen(
                [sys.executable, "-c", PROGRAM, *words],
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=error,
            )

    def run(self, *words: str, seconds: float = 600) -> int:
        """Run it to its end; returns the exit code."""
        return self.start(*words).wait(timeout=seconds)

    @property
    def error(self) -> str:
        """What the last command wrote to its standard error."""
        return (self.folder / "error").read_text(encoding="utf-8")

    def left_over(self) -> list[int]:
        """Processes that commands of this shell have left behind."""
        return _with(self.environment[MARK])


@contextmanager
def shell(folder: Path, server: FakeServer, api: str) -> Iterator[Shell]:
    """A shell whose commands ask the fake provider and the Prefect server at `api`; nothing of it outlives it."""
    folder.mkdir(parents=True, exist_ok=True)
    made = Shell(
        folder,
        {
            "PATH": os.environ["PATH"],
            "HOME": str(folder),
            "PYTHONPATH": str(ROOT),
            "PREFECT_HOME": str(folder / "prefect"),
            "PREFECT_API_URL": api,
            "OPENAI_API_KEY": "sk-fake",
            "OPENAI_BASE_URL": server.openai,
            "OLLAMA_HOST": server.ollama,
            MARK: uuid.uuid4().hex,
        },
    )
    try:
        yield made
    finally:
        _end(made.left_over())


@contextmanager
def prefect_server(home: Path) -> Iterator[str]:
    """A Prefect server that stands until the end of the block; gives the address of its API."""
    port = _free_port()
    mark = uuid.uuid4().hex
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(home),
        "PREFECT_HOME": str(home),
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "DO_NOT_TRACK": "1",
        MARK: mark,
    }
    home.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "prefect", "server", "start", "--host", "127.0.0.1", "--port", str(port)]
    with (home / "server.log").open("wb") as log:
        process = subprocess.Popen(command, cwd=home, env=environment, stdout=log, stderr=log)
    try:
        api = f"http://127.0.0.1:{port}/api"
        _wait_until_healthy(process, api, home / "server.log")
        yield api
    finally:
        process.terminate()
        try:
            process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        _end(_with(mark))


def _wait_until_healthy(process: subprocess.Popen[bytes], api: str, log: Path) -> None:
    for _ in range(1800):
        if process.poll() is not None:
            raise RuntimeError(f"the Prefect server has ended: {log.read_text(encoding='utf-8')[-2000:]}")
        try:
            with urllib.request.urlopen(f"{api}/health", timeout=5) as answer:  # noqa: S310
                if answer.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(0.1)
    raise RuntimeError(f"the Prefect server does not come up; see {log}")


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


def _with(mark: str) -> list[int]:
    """Live processes that have a mark in their environment."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (process / "environ").read_bytes():
                found.append(int(process.name))
        except OSError:
            continue
    return found


def _end(processes: list[int]) -> None:
    for process in processes:
        try:
            os.kill(process, signal.SIGKILL)
        except ProcessLookupError:
            continue
