"""The representation study: graph memory against flat retrieval, with its bounds; and other verdicts on any run."""

from __future__ import annotations

from pathlib import Path

from prefect import flow
from prefect.runtime import deployment
from prefect.task_runners import ThreadPoolTaskRunner

from flows.artifacts import show_results
from flows.report import report_after
from flows.runners import WORKERS, executing
from flows.study_flow import study_flow
from tasks.context import closed_models
from tasks.kinds import make_study
from tasks.places import inside
from tasks.prompts.judge import Judge
from tasks.runs import read_run
from tasks.start import judge_anew
from tasks.study import Study

representation = study_flow(
    Study, "Graph memory against flat retrieval on one benchmark, with paired statistics."
)


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
