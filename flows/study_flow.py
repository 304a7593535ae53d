"""How a kind of study becomes a Prefect flow: one body for all of them.

A flow starts from the command line or from a Prefect deployment; both call the same object.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import Flow, State, flow
from prefect.logging import get_run_logger
from prefect.runtime import deployment
from prefect.states import Failed
from prefect.task_runners import ThreadPoolTaskRunner

from flows.artifacts import progress_shown, show_results
from flows.report import report_after
from flows.runners import WORKERS, executing
from tasks.context import closed_models
from tasks.places import inside
from tasks.start import carry_out, start
from tasks.study import Study

STORE = Path("results/store")
BUDGET_EXHAUSTED = "BudgetExhausted"


class RunIncomplete(Exception):
    """The run came to its end, but some rows met faults that the same command will try again."""


def study_flow(kind: type[Study], description: str) -> Flow[..., Any]:
    """The flow that runs one kind of study, named after it; it stands in the module of its name in `flows`.

    Args:
        kind: The study's class, from which the Prefect UI draws a form.
        description: One line for whoever chooses a flow.
    """

    def run(
        study: Study, data: str = "", store: str = str(STORE), out: str = "", outside: bool = False
    ) -> str | State[Any]:
        """Run the study.

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

    name = str(kind.model_fields["study"].default)
    run.__annotations__["study"] = kind  # Prefect reads the form's fields from here
    run.__module__, run.__name__ = f"flows.{name.replace('-', '_')}", name.replace("-", "_")
    run.__qualname__ = run.__name__  # Prefect finds the flow again as `module:name`
    decorated = flow(
        name=name,
        description=description,
        flow_run_name="{study.title}",
        task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
        validate_parameters=True,
        result_serializer="json",
    )
    return decorated(run)


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
