"""The command `run`: from options to a study, through Prefect, to the printed table."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, get_args

from flows.budgets import budget_of
from flows.console import console, watch
from flows.plain import say
from flows.prefect_settings import quiet_prefect
from flows.report import report_after
from flows.reporting import print_run, print_tables
from memory.errors import BadInput
from tasks.context import spent_by
from tasks.damaged_parts import told
from tasks.kinds import make_study
from tasks.models.bundles import choose, require
from tasks.models.prices import read_prices
from tasks.prompts.judge import Judge
from tasks.runs import read_run, write_run
from tasks.start import begin, check_budget, find_complete, prepare
from tasks.study import Study, condition_fields
from tasks.thresholds import read_thresholds
from tasks.toml_file import read_fields

STOPPED = 3
INCOMPLETE = 4
BUDGET_EXHAUSTED = 5
ENDED_EARLY = {"incomplete": INCOMPLETE, "budget_exhausted": BUDGET_EXHAUSTED}
"""Exit codes of runs that have tables, and rows to be made yet, by their status."""


def study_of(
    file: Path | None,
    fields: dict[str, Any],
    systems: str | None,
    bundle: str | None,
    choices: dict[str, str | None],
    pace: dict[str, int | None] | None = None,
    prices: Path | None = None,
    thresholds: Path | None = None,
) -> Study:
    """A study from a TOML file and the options that override it.

    Raises:
        BadInput: Naming the field or option that is wrong.
    """
    made = read_fields(file) if file else {}
    if file:
        make_study(made, f"{file}: ")  # on its own, so that a fault is named where it stands
    made |= {name: value for name, value in fields.items() if value is not None}
    if systems is not None:
        made["conditions"] = [condition_fields(text) for text in systems.split(",") if text.strip()]
    chosen = {role: name for role, name in choices.items() if name is not None}
    if bundle is not None or chosen:
        own = make_study({"models": made["models"]}) if "models" in made and bundle is None else None
        base = (own.models if own else choose(bundle or "offline", {})).model_dump()
        made["models"] = {**base, **chosen}
    ceilings = {name: value for name, value in (pace or {}).items() if value is not None}
    if ceilings:
        made["pace"] = {**made.get("pace", {}), **ceilings}
    if prices is not None:
        made["prices"] = read_prices(prices)
    if thresholds is not None:
        made["thresholds"] = read_thresholds(thresholds)
    return make_study(made)


def run_study(
    study: Study,
    data: Path | None,
    store: Path,
    out: Path | None,
    amounts: dict[str, list[str]] | None = None,
) -> int:
    """Run a study to its end and print its tables; returns the exit code.

    Args:
        study: The study; its budget is that of its file.
        data: The benchmark's file, or a folder that holds it.
        store: Folder of calls that all runs share.
        out: Folder of the run.
        amounts: The options `--budget-*` by kind, as typed; they may count from what the run has spent.

    Raises:
        BadInput: Before anything runs, if the study or its data cannot be used.
    """
    folder, run = prepare(study, data, store, out)
    if amounts and any(amounts.values()):
        study = study.model_copy(update={"budget": budget_of(amounts, study.budget, spent_by(run))})
        check_budget(study)
        run = run.model_copy(update={"study": study})
    if find_complete(folder, run, retry_failed=study.retry_failed):
        console.print(f"complete: {run.name}; nothing to do, nothing paid")
        print_run(folder)
        if not (folder / "report.html").exists():
            report_after(folder)
        return 0
    require(study.models)
    begin(folder, run)
    with _interrupted_as_stopped(folder):
        quiet_prefect(folder)
        flow = _flow_of(study)
        with watch(folder):
            # Whoever types a path may name any; a parameter that comes through Prefect may not.
            state = flow(study, str(data or ""), str(store), str(folder), outside=True, return_state=True)
    finished = read_run(folder)
    for line in told(folder):
        say(line)
    if finished.status == "complete":
        print_run(folder)
        report_after(folder)
        return 0
    if finished.status in ENDED_EARLY and (folder / "metrics.parquet").exists():
        print_run(folder)
        report_after(folder)
    # A disk that is full keeps even this from `run.json`.
    status = "stopped" if finished.status == "running" else finished.status
    say(f"{status}: {finished.reason or state.message}")
    say(f"what is bought is kept; the same command goes on. Log: {folder / 'prefect.log'}")
    return ENDED_EARLY.get(finished.status, STOPPED)


@contextmanager
def _interrupted_as_stopped(folder: Path) -> Iterator[None]:
    """Let `run.json` say of a run that it is stopped, though Ctrl-C comes before Prefect has begun its flow."""
    try:
        yield
    except KeyboardInterrupt:
        run = read_run(folder)
        if run.status == "running":
            write_run(folder, run.model_copy(update={"status": "stopped", "reason": "interrupted"}))
        raise


def _flow_of(study: Study) -> Any:
    """The Prefect flow of a study: that of its name, in the module of its name."""
    name = study.study.replace("-", "_")
    return getattr(import_module(f"flows.{name}"), name)


def rejudge_run(folder: Path, judge: str) -> int:
    """Judge the answers of a run anew, print the tables and say where they lie; returns the exit code.

    Raises:
        BadInput: If the folder is no run, or there is no such judge.
    """
    folder = folder.resolve()
    read_run(folder)
    prompt, model = (judge, "") if judge in get_args(Judge) else (None, judge)
    if model and ":" not in model:
        raise BadInput(f"--judge {judge!r} is none of {', '.join(get_args(Judge))}, nor provider:model")
    if model:
        choose("offline", {"judge": model})
    quiet_prefect(folder)
    from flows.representation import rejudge

    with watch(folder):
        state = rejudge(str(folder), prompt, model, outside=True, return_state=True)
    failure = state.result(raise_on_failure=False)
    if isinstance(failure, BadInput):
        raise failure
    if not state.is_completed():
        say(f"stopped: {state.message}")
        say(f"Log: {folder / 'prefect.log'}")
        return STOPPED
    print_tables(Path(state.result()))
    console.print(f"Parquet: {state.result()}", soft_wrap=True)
    report_after(Path(state.result()))
    return 0
