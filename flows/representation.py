"""The representation study: graph memory against flat retrieval, and the arms that bound them.

It starts from the command line or from a Prefect deployment; both call `representation`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import State, flow
from prefect.logging import get_run_logger
from prefect.runtime import deployment
from prefect.states import Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.artifacts import progress_shown, show_results
from flows.report import report_after
from flows.runners import WORKERS, executing
from tasks.context import closed_models
from tasks.kinds import make_study
from tasks.places import inside
from tasks.prompts.judge import Judge
from tasks.runs import read_run
from tasks.start import carry_out, judge_anew, start
from tasks.study import Study

STORE = Path("results/store")
BUDGET_EXHAUSTED = "BudgetExhausted"


class RunIncomplete(Exception):
    """The run came to its end, but some rows met faults that the same command will try again."""


@flow(
    name="representation",
    description="Graph memory against flat retrieval on one benchmark, with paired statistics.",
    flow_run_name="{study.title}",
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
    validate_parameters=True,
    result_serializer="json",
)
def representation(
    study: Study, data: str = "", store: str = str(STORE), out: str = "", outside: bool = False
) -> str | State[Any]:
    """Run the representation study.

    Args:
        study: What is asked, of which memories, with which models.
        data: The benchmark's file, or a folder that holds it under its usual name; the sample needs none.
        store: Folder of calls, extractions and vectors that all runs share.
        out: Folder of this run; by default one under results/runs that is named after the study.
        outside: Allow files and folders outside of the project's folder.

    Returns:
        The run folder, or the state BudgetExhausted.
    """
    return carry(study, data, store, out, outside)


def carry(study: Study, data: str, store: str, out: str, outside: bool) -> str | State[Any]:
    """The body of every study's flow: start or find the run, carry it out, and end in a state that is true.

    Raises:
        BadInput: If a path lies outside of the project's folder, and `outside` does not allow it.
        RunIncomplete: If rows are left that the same command will try again.
    """
    found, kept, made = (
        inside(Path(path), name, outside=outside) if path else None
        for name, path in (("data", data), ("store", store), ("out", out))
    )
    folder, run = start(study, found, kept or STORE, made)
    get_run_logger().info("run folder: %s", folder)
    with closed_models(), progress_shown(study), executing(study) as execute:
        finished = carry_out(folder, run, execute, retry_failed=study.retry_failed)
    if deployment.id:  # on the command line the report follows the printed tables
        report_after(folder)
    show_results(folder)
    if finished.status == "budget_exhausted":
        return Failed(name=BUDGET_EXHAUSTED, message=finished.reason)
    if finished.status == "incomplete":
        raise RunIncomplete(finished.reason)
    return str(folder)


@flow(
    name="rejudge",
    description="Judge the answers of a run with another judge; nothing is answered again.",
    flow_run_name="rejudge {run}",
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
    result_serializer="json",
)
def rejudge(run: str, judge: Judge | None = None, model: str = "", outside: bool = False) -> str:
    """Judge the answers of a run anew.

    Args:
        run: The run folder.
        judge: The judge's prompt; none keeps the run's.
        model: The judging model as provider:model; empty keeps the run's.
        outside: Allow files and folders outside of the project's folder.

    Returns:
        The folder of the new verdicts, metrics and tables.
    """
    folder = inside(Path(run), "run", outside=outside).resolve()
    found = read_run(folder)
    inside(Path(found.store), "the run's store", outside=outside)
    fields = found.study.model_dump()
    fields["judge"] = judge or fields["judge"]
    fields["models"]["judge"] = model or fields["models"]["judge"]
    study = make_study(fields)
    with executing(study) as execute, closed_models():
        made = judge_anew(folder, found.model_copy(update={"study": study}), execute)
    if deployment.id:
        report_after(made)
    show_results(made)
    return str(made)
