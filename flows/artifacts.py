"""What a run leaves on a Prefect server for its UI: progress that moves, small tables, and where the report lies.

The keys are the same in every run of a study on a benchmark, so that the UI shows their history. Artifacts are a view:
what they show stands in the run's tables, and a fault of theirs is a warning in the log, never the run's. Prefect's
short-lived server, which nobody can look at, is given none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import copy_context
from pathlib import Path
from typing import cast
from uuid import UUID

import httpx
from prefect.artifacts import (
    create_markdown_artifact,
    create_progress_artifact,
    create_table_artifact,
    update_progress_artifact,
)
from prefect.exceptions import PrefectException
from prefect.logging import get_run_logger
from prefect.settings import get_current_settings

from flows.console import line
from flows.report import FAULTS as REPORT_FAULTS
from flows.report import money_of, run_of
from results.rendering import plain
from results.report.cost import calls_of, cost
from results.report.elements import Section, TextTable
from results.report.failures import failures
from results.report.headline import headline
from results.report.sources import RunFolder
from tasks.progress import PROGRESS
from tasks.start import stages_of
from tasks.study import Study

EVERY = 3.0
"""Seconds between two updates of a progress artifact, at least."""

MOST_ROWS = 100
MOST_CHARACTERS = 300
"""Of a table and of its cells: an artifact is sent in one request, and read at a glance."""

SERVER_FAULTS = (httpx.HTTPError, PrefectException, OSError, RuntimeError, ValueError)
"""What Prefect raises when its server does not answer, or refuses an artifact."""

Rows = list[dict[str, str]]


def recorded() -> bool:
    """Whether the run is on a server that somebody can look at."""
    return get_current_settings().api.url is not None


@contextmanager
def progress_shown(study: Study) -> Iterator[None]:
    """Keep a progress artifact of the flow run up to date until the block ends."""
    if not recorded():
        yield
        return
    ended = threading.Event()
    thread = threading.Thread(
        target=copy_context().run, args=(_show_progress, study, ended), name="progress artifact", daemon=True
    )
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _show_progress(study: Study, ended: threading.Event) -> None:
    started, shown = time.monotonic(), 0.0
    try:
        made = cast(UUID, create_progress_artifact(0.0, key_of(study, "progress"), line(started)))
        while not ended.wait(EVERY):
            shown = max(shown, percent(stages_of(study)))  # a stage that comes in several parts starts anew
            update_progress_artifact(made, shown, line(started))
        update_progress_artifact(made, max(shown, percent(stages_of(study))), line(started))
    except SERVER_FAULTS as fault:
        _warn("progress", fault)


def percent(stages: Sequence[str]) -> float:
    """How far a run is, each of its stages counting alike."""
    with PROGRESS.lock:
        stage, done, total = PROGRESS.stage, PROGRESS.done, PROGRESS.total
    if stage not in stages:
        return 0.0
    return 100.0 * (stages.index(stage) + (done / total if total else 0.0)) / len(stages)


def show_results(folder: Path) -> None:
    """Leave the tables of a run that has come to an end, or of other verdicts in it, as artifacts of the flow run."""
    if not recorded():
        return
    try:
        _create(folder)
    except (*REPORT_FAULTS, *SERVER_FAULTS) as fault:
        _warn("tables", fault)


def _create(folder: Path) -> None:
    run, study = RunFolder(folder), run_of(folder).study
    metrics, calls = run.frame("metrics"), calls_of(run)
    if metrics is not None and not metrics.empty:
        found = headline(run, metrics)
        create_table_artifact(by_condition(found), key_of(study, "conditions"), _described(found))
    spent = cost(calls, money_of(run_of(folder)).budget)
    create_table_artifact(rows_of(spent), key_of(study, "spending"), _described(spent))
    failed = failures(run, metrics, calls)
    create_table_artifact(rows_of(failed), key_of(study, "failures"), _described(failed))
    create_markdown_artifact(_where(run), key_of(study, "report"), f"Where the results of {study.title} lie")


def key_of(study: Study, what: str) -> str:
    """The key of an artifact: lower-case letters, digits and dashes."""
    return f"{study.study}-{study.benchmark}-{what}".replace("_", "-")


def by_condition(found: Section) -> Rows:
    """A row a condition: each figure of the headline with its interval, and with its n where that is another."""
    rows: dict[str, dict[str, str]] = {}
    for chart in found.charts:
        for mark in chart.marks:
            row = rows.setdefault(mark.label, {chart.label: _cell(mark.label)})
            other = row.setdefault("n", mark.n) != mark.n
            row[f"{chart.title} [95 %]"] = f"{mark.text}, n = {mark.n}" if other else mark.text
    return list(rows.values())[:MOST_ROWS]


def rows_of(section: Section) -> Rows:
    """The first table of a section; a section without one has a row that says so, for the history of its key."""
    table = section.tables[0] if section.tables else TextTable("", (section.title,), (("none",),))
    return [
        {name: _cell(cell) for name, cell in zip(table.header, row, strict=True)}
        for row in table.rows[:MOST_ROWS]
    ]


def _described(section: Section) -> str:
    facts = [f"{name}: {value}" for name, value in section.facts]
    return "\n\n".join(_cell(text) for text in (*facts, *section.lines))


def _cell(text: str) -> str:
    shown = plain(text)
    return shown if len(shown) <= MOST_CHARACTERS else f"{shown[: MOST_CHARACTERS - 1]}…"


def _where(run: RunFolder) -> str:
    """Browsers refuse links from a server's page to a file, so the path is text."""
    folder, about = run.folder.resolve(), run.about
    reason = f" {_cell(about.reason)}" if about.reason else ""
    return (
        f"Run `{run.name}` is **{about.status}**.{reason}\n\n"
        f"- Report, one file to open in a browser: `{folder / 'report.html'}`\n"
        f"- Tables: `{folder}/*.parquet`\n"
        f"- In a shell: `palimpsest show {folder}`\n"
        f'- In Python: `results.load("{folder}")`\n'
    )


def _warn(what: str, fault: BaseException) -> None:
    get_run_logger().warning(
        "no artifact of the run's %s: %s", what, plain(str(fault)) or type(fault).__name__
    )
