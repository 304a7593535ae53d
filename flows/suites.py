"""The command `show suites`: several use-time runs as one table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from flows import completing

if TYPE_CHECKING:
    from results.suites import SuiteRun


def show_suites(
    folders: Annotated[
        list[Path], typer.Argument(help="Folders of use-time runs.", autocompletion=completing.runs)
    ],
    tokens: Annotated[int, typer.Option(help="The budget at which they are compared.")] = 2000,
    figure: Annotated[
        Path | None, typer.Option(help="Also draw it, as PNG and SVG under this path without suffix.")
    ] = None,
) -> None:
    """Print use-time runs beside one another: model families, systems, suites, and the mean of the three suites."""
    from flows.console import as_table, print_table
    from results.suites import suites, suites_figure, suites_text

    table = suites([_run_of(folder) for folder in folders], tokens)
    print_table(as_table(suites_text(table, tokens)))
    if figure is not None:
        suites_figure(table, figure)


def _run_of(folder: Path) -> SuiteRun:
    from flows.reporting import run_table
    from memory.errors import BadInput
    from results.suites import SuiteRun
    from tasks.runs import read_run
    from tasks.use_time_study import UseTimeStudy

    study = read_run(folder).study
    if not isinstance(study, UseTimeStudy):
        raise BadInput(f"{folder} is a run of the study {study.study}: suites are made of use-time runs")
    models = study.models
    family = (
        models.answerer if models.judge == models.answerer else f"{models.answerer}, judge {models.judge}"
    )
    return SuiteRun(study.benchmark, family, run_table(folder, "use_time"))
