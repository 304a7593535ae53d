"""Where the works of a study are done: in threads of the flow, in processes, or on a Dask or Ray cluster."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any

from prefect.client.orchestration import get_client
from prefect.settings import PREFECT_API_URL, temporary_settings
from prefect.task_runners import ProcessPoolTaskRunner, TaskRunner

from memory.errors import BadInput
from tasks.execute import Execute
from tasks.orchestrate import in_prefect
from tasks.study import Study

WORKERS = 2
"""Threads or processes; those of a cluster are the cluster's."""


@contextmanager
def executing(study: Study) -> Iterator[Execute]:
    """How the works of a study are carried out, from a flow run, until the end of the block.

    A cluster is one that runs already where DASK_SCHEDULER_ADDRESS or RAY_ADDRESS names it, else one on this machine.

    Raises:
        BadInput: If the runner's package is not installed.
    """
    if study.runner == "threads":  # the flow's own
        yield in_prefect
        return
    # Without a server of its own a flow starts a short-lived one; each worker process would start one more.
    server = get_client(sync_client=True).api_url
    with temporary_settings({PREFECT_API_URL: str(server)}), _task_runner(study.runner) as runner:
        yield partial(in_prefect, runner=runner)


def _task_runner(name: str) -> TaskRunner[Any]:
    if name == "processes":
        return ProcessPoolTaskRunner(max_workers=WORKERS)
    if find_spec(f"prefect_{name}") is None:
        raise BadInput(f"--runner {name}: pip install 'palimpsest[{name}]' first")
    if name == "dask":
        from prefect_dask.task_runners import DaskTaskRunner

        address = os.environ.get("DASK_SCHEDULER_ADDRESS")
        here = None if address else {"n_workers": WORKERS, "threads_per_worker": 1}
        on_dask: TaskRunner[Any] = DaskTaskRunner(address=address, cluster_kwargs=here)
        return on_dask
    from prefect_ray.task_runners import RayTaskRunner

    on_ray: TaskRunner[Any] = RayTaskRunner(address=os.environ.get("RAY_ADDRESS"))
    return on_ray
