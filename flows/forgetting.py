"""The forgetting study: Experiment 2, and the compression-quality frontier around it."""

from __future__ import annotations

from typing import Any

from prefect import State, flow
from prefect.task_runners import ThreadPoolTaskRunner

from flows.representation import STORE, carry
from flows.runners import WORKERS
from tasks.forgetting_study import ForgettingStudy


@flow(
    name="forgetting",
    description="One persistent graph, what may be forgotten of it, and what that costs, against chance.",
    flow_run_name="{study.title}",
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
    validate_parameters=True,
    result_serializer="json",
)
def forgetting(
    study: ForgettingStudy, data: str = "", store: str = str(STORE), out: str = "", outside: bool = False
) -> str | State[Any]:
    """Run the forgetting study.

    Args:
        study: What is stored, what may be forgotten, and how the loss is measured.
        data: The benchmark's file, or a folder that holds it under its usual name; the sample needs none.
        store: Folder of calls, extractions and vectors that all runs share.
        out: Folder of this run; by default one under results/runs that is named after the study.
        outside: Allow files and folders outside of the project's folder.

    Returns:
        The run folder, or the state BudgetExhausted.
    """
    return carry(study, data, store, out, outside)
