"""The representation study: graph memory against flat retrieval, and the arms that bound them.

It starts from the command line or from a Prefect deployment; both call `representation`.
"""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from prefect import flow
from prefect.task_runners import ThreadPoolTaskRunner

from tasks.context import closed_models
from tasks.kinds import make_study
from tasks.orchestrate import in_prefect
from tasks.runs import read_run
from tasks.start import carry_out, judge_anew, start
from tasks.study import Study

WORKERS = 2


class RunIncomplete(Exception):
    """The run came to its end, but some rows met faults that the same command will try again."""


@flow(
    name="representation",
    description="Graph memory against flat retrieval on one benchmark, with paired statistics.",
    flow_run_name="{study.study} on {study.benchmark}",
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
    validate_parameters=True,
)
def representation(study: Study, data: str = "", store: str = "results/store", out: str = "") -> str:
    """Run the representation study.

    Args:
        study: What is asked, of which memories, with which models.
        data: The benchmark's file, or a folder that holds it under its usual name; the sample needs none.
        store: Folder of calls, extractions and vectors that all runs share.
        out: Folder of this run; by default one under results/runs that is named after the study.

    Returns:
        The run folder.
    """
    return carry(study, data, store, out)


def carry(study: Study, data: str, store: str, out: str) -> str:
    """The body of every study's flow: start or find the run, carry it out, and end in a state that is true.

    Raises:
        RunIncomplete: If rows are left that the same command will try again.
    """
    folder, run = start(study, Path(data) if data else None, Path(store), Path(out) if out else None)
    with closed_models():
        finished = carry_out(folder, run, in_prefect, retry_failed=study.retry_failed)
    if finished.status == "incomplete":
        raise RunIncomplete(finished.reason)
    return str(folder)


@flow(
    name="rejudge",
    description="Judge the answers of a run with another judge; nothing is answered again.",
    task_runner=ThreadPoolTaskRunner(max_workers=WORKERS),  # type: ignore[arg-type]
)
def rejudge(run: str, judge: Literal["", "paper", "per_type"] = "", model: str = "") -> str:
    """Judge the answers of a run anew.

    Args:
        run: The run folder.
        judge: The judge's prompt; empty keeps the run's.
        model: The judging model as provider:model; empty keeps the run's.

    Returns:
        The folder of the new verdicts, metrics and tables.
    """
    folder = Path(run).resolve()
    found = read_run(folder)
    fields = found.study.model_dump()
    fields["judge"] = judge or fields["judge"]
    fields["models"]["judge"] = model or fields["models"]["judge"]
    study = make_study(fields)
    with closed_models():
        return str(judge_anew(folder, found.model_copy(update={"study": study}), in_prefect))
