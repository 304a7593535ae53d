"""The command `serve`: a Prefect server, the deployments and a worker on this machine, until Ctrl-C ends them all.

It is what `prefect server start`, `prefect deploy --all` and `prefect worker start --pool palimpsest` do in three
shells. The three are given sessions of their own, so that Ctrl-C reaches this process alone, which ends them in order:
the runs, the worker, the server.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import httpx

from flows.blocks import POOL, set_up_pool
from flows.console import console
from memory.errors import BadInput

# Prefect is imported once its address is in the environment.
if TYPE_CHECKING:
    from prefect.client.orchestration import SyncPrefectClient
    from prefect.client.schemas.objects import FlowRun

HOST = "127.0.0.1"
ROOT = Path(__file__).parents[1]
"""Where `prefect.yaml` lies."""

_START = 180.0  # seconds for a server on a slow machine that sets up its database
_END = 40.0  # seconds for each to end
_LOST = "its worker was gone when the server started; what is bought is kept, and a retry goes on from it"
_LOOK = 0.5


def serve(port: int) -> None:
    """Start the server, register the deployments, and work on their runs until interrupted.

    Runs read and write below the working folder. What Prefect keeps lies in PREFECT_HOME.

    Raises:
        BadInput: If the port is taken, or one of the three cannot be started, or ends by itself.
        KeyboardInterrupt: When interrupted, once all three have ended.
    """
    _check_free(port)
    os.environ.update(environment(port, Path.cwd()))
    # SIGINT too: a shell that starts a job in the background makes it, and all that it starts, deaf to that.
    for end in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, signal.default_int_handler)
    with _running("server", ["server", "start", "--host", HOST, "--port", str(port)]) as server:
        _await(server, f"http://{HOST}:{port}/api/health")
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            set_up_pool(client)
            _deploy()
            with _running("worker", ["worker", "start", "--pool", POOL]) as worker, _runs_ended(client):
                console.print(
                    f"Prefect UI: http://{HOST}:{port}; deployments are there, a worker waits; Ctrl-C ends all"
                )
                _watch({"server": server, "worker": worker})


def environment(port: int, folder: Path) -> Mapping[str, str]:
    """The settings of all three, on top of the user's own."""
    return {
        "PREFECT_API_URL": f"http://{HOST}:{port}/api",
        "PREFECT_UI_API_URL": f"http://{HOST}:{port}/api",
        "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
        "PALIMPSEST_HOME": str(folder),
    }


def _check_free(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise BadInput(
                f"port {port} of {HOST} is taken ({error.strerror}): choose another with --port"
            ) from error


@contextmanager
def _running(name: str, words: Sequence[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A part of Prefect, until the block ends."""
    console.print(f"starting Prefect's {name}")
    process = subprocess.Popen(_prefect(words), start_new_session=True)  # noqa: S603  # this program's own words
    try:
        yield process
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_END)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def _prefect(words: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "prefect", *words]


def _await(server: subprocess.Popen[bytes], address: str) -> None:
    def healthy() -> bool:
        if server.poll() is not None:
            raise BadInput(f"Prefect's server ended with code {server.returncode}; see above")
        try:
            return httpx.get(address, trust_env=False).is_success
        except httpx.TransportError:
            return False

    if not _until(healthy, _START):
        raise BadInput(f"Prefect's server did not answer in {_START:g} s")


def _deploy() -> None:
    done = subprocess.run(  # noqa: S603
        _prefect(["--no-prompt", "deploy", "--all"]), cwd=ROOT, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr or done.stdout).strip().rpartition("\n")[2]
        raise BadInput(f"prefect deploy ended with code {done.returncode}: {last}")


@contextmanager
def _runs_ended(client: SyncPrefectClient) -> Iterator[None]:
    """Let no run outlive the block, and none that an earlier server has lost be called running.

    A run is told to stop, as a job scheduler would: it keeps what it has bought, and says in `run.json` that it is
    stopped. A worker that is interrupted would kill it.
    """
    from prefect.states import Crashed

    for lost in _begun(client):
        client.set_flow_run_state(lost.id, Crashed(message=_LOST), force=True)
    try:
        yield
    finally:
        console.print("ending what runs; what is bought is kept, and a retry goes on from it")
        for run in _begun(client):
            _signal(run, signal.SIGTERM)
        if not _until(lambda: not any(_signal(run, 0) for run in _begun(client)), _END):
            for run in _begun(client):
                _signal(run, signal.SIGKILL)


def _begun(client: SyncPrefectClient) -> list[FlowRun]:
    """The runs of the work pool that the server takes for under way."""
    from prefect.client.schemas.filters import FlowRunFilter, WorkPoolFilter

    pool = WorkPoolFilter.model_validate({"name": {"any_": [POOL]}})
    under_way = FlowRunFilter.model_validate(
        {"state": {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}}
    )
    return client.read_flow_runs(flow_run_filter=under_way, work_pool_filter=pool)


def _signal(run: FlowRun, number: int) -> bool:
    """Send a signal to a run's process, which leads a group of its own; returns whether there is one."""
    _, _, process = (run.infrastructure_pid or "").rpartition(":")
    if not process.isdecimal():
        return False
    try:
        os.killpg(int(process), number)
    except ProcessLookupError:
        return False
    return True


def _watch(parts: Mapping[str, subprocess.Popen[bytes]]) -> None:
    while all(part.poll() is None for part in parts.values()):
        time.sleep(_LOOK)
    ended = next(name for name, part in parts.items() if part.poll() is not None)
    raise BadInput(f"Prefect's {ended} ended by itself, with code {parts[ended].returncode}; see above")


def _until(fulfilled: Callable[[], bool], seconds: float) -> bool:
    end = time.monotonic() + seconds
    while not fulfilled():
        if time.monotonic() > end:
            return False
        time.sleep(_LOOK)
    return True
