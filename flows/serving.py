"""The command `serve`: a Prefect server, the deployments and a worker on this machine, until Ctrl-C ends them all.

It is what `prefect server start`, `prefect deploy --all` and `prefect worker start --pool palimpsest` do in three
shells. The three are given sessions of their own, so that Ctrl-C reaches this process alone, which ends them in order:
a worker that is interrupted kills its runs, so they are cancelled first.
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

HOST = "127.0.0.1"
ROOT = Path(__file__).parents[1]
"""Where `prefect.yaml` lies."""

_START = 180.0  # seconds for a server on a slow machine that sets up its database
_END = 60.0  # seconds for runs that are cancelled: Prefect looks every 10 and gives them 30
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
    for end in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(end, signal.default_int_handler)
    with _running("server", ["server", "start", "--host", HOST, "--port", str(port)]) as server:
        _await(server, f"http://{HOST}:{port}/api/health")
        from prefect.client.orchestration import get_client

        with get_client(sync_client=True) as client:
            set_up_pool(client)
            _deploy()
            with _running("worker", ["worker", "start", "--pool", POOL]) as worker, _cancelled_at_end(client):
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
        raise BadInput(f"prefect deploy ended with code {done.returncode}: {done.stdout}{done.stderr}")


@contextmanager
def _cancelled_at_end(client: SyncPrefectClient) -> Iterator[None]:
    """Cancel what is running in the work pool when the block ends, and wait for it, so that it ends whole."""
    try:
        yield
    finally:
        console.print("cancelling what runs; what is bought is kept, and a retry goes on from it")
        _cancel(client)


def _cancel(client: SyncPrefectClient) -> None:
    from prefect.client.schemas.filters import FlowRunFilter, WorkPoolFilter
    from prefect.states import Cancelling

    pool = WorkPoolFilter.model_validate({"name": {"any_": [POOL]}})
    begun = FlowRunFilter.model_validate({"state": {"type": {"any_": ["RUNNING", "PENDING", "CANCELLING"]}}})
    for run in client.read_flow_runs(flow_run_filter=begun, work_pool_filter=pool):
        client.set_flow_run_state(run.id, Cancelling())
    _until(lambda: not client.read_flow_runs(flow_run_filter=begun, work_pool_filter=pool), _END)


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
