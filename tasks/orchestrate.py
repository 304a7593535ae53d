"""From a stage to a Prefect task, and from a list of works to task runs.

A task takes a work and gives an artefact: ids, hashes and paths. Its cache key is the work's fingerprint in its run
folder; where the artefact is not there whole, whatever Prefect remembers is refreshed, so that a Cached task never
points at nothing. Retries here are for faults of the machine and visible in the UI; retries of a model call belong to
the gateway. No paid work stands inside a transaction.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from typing import Any

from prefect import Task, task
from prefect.client.schemas.objects import State, TaskRun
from prefect.context import TaskRunContext
from prefect.futures import PrefectFuture, as_completed
from prefect.task_runners import TaskRunner

from results.rendering import plain
from tasks.failures import StageFailed
from tasks.progress import PROGRESS
from tasks.stage import Artefact, Stage, Work, bring_files, existing
from tasks.worker import at_work

LONGEST_ID = 60
"""Characters of a history's id in the name of a task run."""
INFRASTRUCTURE = (OSError, sqlite3.OperationalError)


def cache_key(_: TaskRunContext, parameters: dict[str, Any]) -> str:
    """The work's fingerprint in its run folder, in letters that may stand in a file name."""
    work: Work = parameters["work"]
    return hashlib.sha256(f"{work.run}|{work.stage}|{work.fingerprint}".encode()).hexdigest()


def _infrastructure_fault(_: Task[Any, Any], __: TaskRun, state: State[Any]) -> bool:
    error = state.result(raise_on_failure=False)
    return isinstance(error, INFRASTRUCTURE)


def as_task(stage: Stage) -> Task[[Work], Artefact]:
    """The Prefect task of a stage."""

    @task(
        name=stage.name,
        version=str(stage.version),
        cache_key_fn=cache_key,
        persist_result=True,
        result_serializer="json",
        cache_result_in_memory=False,
        retries=2,
        retry_delay_seconds=[1, 5],
        retry_condition_fn=_infrastructure_fault,
    )
    def stage_task(work: Work) -> Artefact:
        return at_work(stage, work)

    return stage_task


def title(work: Work, number: int, works: int) -> str:
    """What the UI calls a task run: stage, condition and batch, how many there are, and which rows or histories."""
    named = f"{work.stage} {work.batch} ({number} of {works})"
    histories = work.params.get("histories", ())
    if "first" in work.params and "count" in work.params:
        return f"{named}: turns from {work.params['first'] + 1:,}"
    if not histories:
        return named
    more = f" and {len(histories) - 1} more histories" if len(histories) > 1 else ""
    return f"{named}: {plain(histories[0])[:LONGEST_ID]}{more}"


def in_prefect(stage: Stage, works: Sequence[Work], runner: TaskRunner[Any] | None = None) -> list[Artefact]:
    """Perform works as task runs of the current flow run, by a started task runner or else the flow's own.

    Raises:
        StageFailed: After all works have come to an end, if one of them failed.
    """
    run = as_task(stage)
    PROGRESS.begin(stage.name, works)
    futures: dict[PrefectFuture[Artefact], tuple[int, Artefact | None]] = {}
    for number, work in enumerate(works):
        found = existing(work)
        named = run.with_options(
            task_run_name=title(work, number + 1, len(works)), refresh_cache=found is None
        )
        future = runner.submit(named, {"work": work}) if runner else named.submit(work)
        futures[future] = (number, found)
    artefacts: dict[int, Artefact] = {}
    errors: list[BaseException] = []
    for future in as_completed(list(futures)):
        number, found = futures[future]
        result: object = future.result(raise_on_failure=False)
        if isinstance(result, BaseException):
            errors.append(result)
        else:
            # What lies on the disk counts: Prefect may remember an older making of the same work.
            artefacts[number] = found or Artefact.model_validate(result)
            bring_files(works[number], artefacts[number])
            PROGRESS.advance(artefacts[number], found=found is not None)
    if errors:
        raise StageFailed(stage.name, errors)
    return [artefacts[number] for number in range(len(works))]
