"""`palimpsest serve` as a user types it: a real server, a worker and the deployments, in a folder of its own."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.flows.fake_llm import reply
from tests.tasks.models.fakes import Answer, FakeServer, Request

STUDY = {
    "benchmark": "sample",
    "models": "published",
    "conditions": [{"system": "flat"}, {"system": "graph"}],
    "pace": {"max_concurrency": 4},
}
IN_FLIGHT = 4
"""Requests of chats that the study has under way at once, at most."""
READY = "a worker waits"


def slowly(request: Request) -> Answer:
    """As the fake answers, but so that a run can be caught in the middle."""
    time.sleep(0.03)
    return reply(request)


def wait_for(what: Callable[[], Any], seconds: float = 240) -> Any:
    """What is there at last; a failure if it never is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        time.sleep(0.1)
    raise AssertionError(f"not in {seconds} s")


@dataclass
class Served:
    """A server under way, and its REST interface, which the UI uses too."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes]
    mark: str

    def __post_init__(self) -> None:
        self.http = httpx.Client(base_url=f"http://127.0.0.1:{self.port}/api", trust_env=False, timeout=60)

    @property
    def said(self) -> str:
        return (self.folder / "serve.log").read_text(encoding="utf-8")

    def post(self, path: str, **body: Any) -> Any:
        return self.http.post(path, json=body).raise_for_status().json()

    def deployment(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/deployments/name/{name}").raise_for_status().json()
        return found

    def submit(self, name: str, **parameters: Any) -> httpx.Response:
        """As the form's button does."""
        path = f"/deployments/{self.deployment(name)['id']}/create_flow_run"
        return self.http.post(path, json={"parameters": parameters, "state": {"type": "SCHEDULED"}})

    def start(self, **parameters: Any) -> str:
        """The id of a new run of the deployment `smoke`."""
        return str(self.submit("representation/smoke", **parameters).raise_for_status().json()["id"])

    def run(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.http.get(f"/flow_runs/{name}").raise_for_status().json()
        return found

    def ended(self, name: str) -> dict[str, Any]:
        """A run once it has come to an end."""
        over = {"COMPLETED", "FAILED", "CRASHED", "CANCELLED"}
        wait_for(lambda: self.run(name)["state_type"] in over)
        return self.run(name)

    def set_state(self, name: str, kind: str, state: str) -> None:
        """As the UI's buttons do."""
        assert (
            self.post(f"/flow_runs/{name}/set_state", state={"type": kind, "name": state})["status"]
            == "ACCEPT"
        )

    def of_run(self, kind: str, name: str) -> list[dict[str, Any]]:
        """Artifacts or task runs of a run."""
        found: list[dict[str, Any]] = self.post(f"/{kind}/filter", flow_runs={"id": {"any_": [name]}})
        return found

    def processes(self, *words: str) -> list[int]:
        """What is running of it, or of it with these words in its command line."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                command = (place / "cmdline").read_bytes().decode(errors="replace")
                ours = self.mark.encode() in (place / "environ").read_bytes()
                if ours and command and all(word in command for word in words):
                    found.append(int(place.name))
        return found

    def kill(self, *words: str) -> None:
        """Kill -9 what has these words in its command line."""
        for process in self.processes(*words):
            with suppress(ProcessLookupError):
                os.kill(process, signal.SIGKILL)


@contextmanager
def serving(folder: Path, environment: Mapping[str, str]) -> Iterator[Served]:
    """Serve until the block ends; what is left then is killed."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mark = f"palimpsest-test-{os.getpid()}-{time.time_ns()}"
    with (folder / "serve.log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "flows.cli", "serve", "--port", str(port)],
            cwd=folder,
            env={**environment, "PALIMPSEST_TEST": mark},
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    served = Served(folder, port, process, mark)
    try:
        wait_for(lambda: READY in served.said or process.poll() is not None)
        assert process.poll() is None, served.said
        yield served
        if process.poll() is None:
            process.terminate()
            process.wait(120)
    finally:
        served.http.close()
        served.kill()


def environment_of(folder: Path, fake: FakeServer) -> dict[str, str]:
    """A user's shell, with Prefect's home below the folder and models that are fakes."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "PREFECT_HOME": str(folder / "prefect"),
        "NO_PROXY": "127.0.0.1,localhost",
        "DO_NOT_TRACK": "1",
        "OPENAI_API_KEY": "sk-fake",
        "OPENAI_BASE_URL": fake.openai,
        "OLLAMA_HOST": fake.ollama,
    }


def bought_again(fake: FakeServer, since: int = 0) -> int:
    """Chats that were asked for more than once."""
    asked = Counter(json.dumps(r.body, sort_keys=True) for r in fake.requests[since:] if "messages" in r.body)
    return sum(asked.values()) - len(asked)
