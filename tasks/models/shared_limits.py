"""Prefect's global concurrency limits: kept where a server has them, and never relied on.

A limit called `palimpsest-<alias>`, such as `palimpsest-openai`, is shared by all runs on one Prefect server: with
slot decay it bounds how often they ask that provider together, without it how many of their requests are under way at
once. Outside a Prefect run, or where the server has no such limit, nothing is asked and nothing waits.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from tasks.models.pace import never

if TYPE_CHECKING:
    from prefect.client.schemas.responses import GlobalConcurrencyLimitResponse

PREFIX = "palimpsest-"

LEASE = 300.0
"""Seconds after which Prefect frees the slots of a run that was killed; no request takes as long."""

_LOOK = (
    5.0  # seconds after which a waiting thread sees that the run is being stopped, or that the server is gone
)

_guard = threading.Lock()
_limits: dict[tuple[str, str], GlobalConcurrencyLimitResponse | None] = {}


@contextmanager
def shared_turn(
    alias: str, stopped: Callable[[], None] = never, longest: float = 1.1 * LEASE
) -> Iterator[None]:
    """Send one request inside, holding a slot of the provider's shared limit if the run's server has one.

    It is waited for at most `longest` seconds, and the log says so; then, and if the server is gone, the run goes on
    without it. `stopped` is called now and then while it waits; what it raises ends the waiting.
    """
    run = _run_id()
    if run is None or _limit(run, alias) is None:
        yield
        return
    with ExitStack() as slot:
        _wait_for(slot, run, alias, stopped, longest)
        try:
            yield
        finally:
            _give_back(slot, run, alias)


def _run_id() -> str | None:
    """The Prefect run that this thread works for."""
    if "prefect.context" not in sys.modules:
        return None
    from prefect.context import FlowRunContext, TaskRunContext

    task = TaskRunContext.get()
    if task is not None:
        return str(task.task_run.flow_run_id or task.task_run.id)
    flow = FlowRunContext.get()
    return str(flow.flow_run.id) if flow is not None and flow.flow_run is not None else None


def _limit(run: str, alias: str) -> GlobalConcurrencyLimitResponse | None:
    """The provider's limit, looked up once in a run."""
    with _guard:
        if (run, alias) not in _limits:
            _limits[run, alias] = _look_up(alias)
        return _limits[run, alias]


def _look_up(alias: str) -> GlobalConcurrencyLimitResponse | None:
    from prefect.client.orchestration import get_client
    from prefect.exceptions import ObjectNotFound

    try:
        with get_client(sync_client=True, httpx_settings={"timeout": _LOOK}) as client:
            found = client.read_global_concurrency_limit_by_name(PREFIX + alias)
    except ObjectNotFound:
        return None
    except _faults() as error:
        _warn(f"{PREFIX}{alias} cannot be looked up ({type(error).__name__}): going on without it")
        return None
    return found if found.active else None


def _wait_for(slot: ExitStack, run: str, alias: str, stopped: Callable[[], None], longest: float) -> None:
    """Enter a slot of the limit; nothing if there is none any more, or if it is not to be had."""
    end = time.monotonic() + longest
    waiting = False
    while (limit := _limit(run, alias)) is not None:
        stopped()
        try:
            slot.enter_context(_slot(limit, min(_LOOK, longest)))
            return
        except TimeoutError:
            if time.monotonic() >= end:
                _drop(run, alias, f"{limit.name} gave no slot in {longest:g} s")
            elif not waiting:
                waiting = True
                _warn(
                    f"waiting for a slot of Prefect's global concurrency limit {limit.name} ({limit.limit} slots)"
                )
            _look_again(run, alias)
        except _faults() as error:
            _drop(run, alias, f"{limit.name} cannot be asked ({type(error).__name__})")


@contextmanager
def _slot(limit: GlobalConcurrencyLimitResponse, seconds: float) -> Iterator[None]:
    from prefect.concurrency.sync import concurrency, rate_limit

    if limit.slot_decay_per_second > 0:
        rate_limit(limit.name, timeout_seconds=seconds)
        yield
    else:
        with concurrency(limit.name, timeout_seconds=seconds, lease_duration=LEASE):
            yield


def _give_back(slot: ExitStack, run: str, alias: str) -> None:
    try:
        slot.close()
    except _faults() as error:
        _drop(run, alias, f"a slot of {PREFIX}{alias} cannot be given back ({type(error).__name__})")


def _look_again(run: str, alias: str) -> None:
    """A time-out does not tell a limit without free slots from a server that is gone, or a limit that was deleted."""
    with _guard:
        if _limits[run, alias] is not None:
            _limits[run, alias] = _look_up(alias)


def _drop(run: str, alias: str, reason: str) -> None:
    with _guard:
        held, _limits[run, alias] = _limits[run, alias], None
    if held is not None:
        _warn(f"{reason}: going on without it")


def _warn(message: str) -> None:
    from prefect.logging import get_run_logger

    get_run_logger().warning(message)


def _faults() -> tuple[type[Exception], ...]:
    """What Prefect raises when its server does not answer, or answers something else."""
    import httpx
    from prefect.concurrency.asyncio import ConcurrencySlotAcquisitionError
    from prefect.exceptions import PrefectException

    return (
        httpx.HTTPError,
        PrefectException,
        ConcurrencySlotAcquisitionError,
        OSError,
        RuntimeError,
        ValueError,
    )
