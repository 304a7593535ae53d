"""The ranking study: where memories rank the evidence of questions, with no answer and no verdict."""

from __future__ import annotations

from typing import Any

from prefect import State, flow
from prefect.task_runners import ThreadPoolTaskRunner

from flows.representation import STORE, carry
from flows.runners import WORKERS
from tasks.ranking_study import RankingStudy


@flow(
    name="ranking",
    description="How well memories rank the evidence of questions: quality, latency and bytes; no model answers.",
    flow_run_name="{study.title}",
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
    validate_parameters=True,
    result_serializer="json",
)
def ranking(
    study: RankingStudy, data: str = "", store: str = str(STORE), out: str = "", outside: bool = False
) -> str | State[Any]:
    """Run the ranking study.

    Args:
        study: Which memories are asked what, with which models.
        data: The benchmark's file, or a folder that holds it under its usual name; the sample needs none.
        store: Folder of calls, extractions and vectors that all runs share.
        out: Folder of this run; by default one under results/runs that is named after the study.
        outside: Allow files and folders outside of the project's folder.

    Returns:
        The run folder, or the state BudgetExhausted.
    """
    return carry(study, data, store, out, outside)
