"""The commands `report` and `compare --html`: what the run's own tables do not say, handed to the report."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from rich.text import Text

from flows.budgets import spent_and_left
from flows.console import console
from flows.plain import say
from memory.errors import BadInput
from results.errors import DiskFull, TornTable
from results.report.comparison import write_comparison
from results.report.run_report import Money, write_report
from results.report.sides import sides
from tasks.models.catalogue import OFFLINE
from tasks.models.ledger import Ledger
from tasks.models.prices import Price, Prices, list_prices
from tasks.runs import Run, read_run
from tasks.study_diff import differences

FAULTS = (BadInput, TornTable, DiskFull, OSError, ValueError, LookupError, TypeError, pa.ArrowException)
"""What may go wrong in a report. It ends a run that has its tables: no fault of a report may make that a failure."""


def report(folder: Path, out: Path | None = None) -> Path:
    """Write a run's report and say where it lies.

    Args:
        folder: The run folder, or one of other verdicts in it (`RUN/rejudged/NAME`).
        out: The file; by default `report.html` in that folder.

    Raises:
        BadInput: If the folder is no run.
        TornTable: If one of its tables is not whole.
    """
    path = write_report(folder, money_of(run_of(folder)), out)
    console.print(Text(f"report: {path}"), soft_wrap=True)
    return path


def report_after(folder: Path) -> Path | None:
    """The report at the end of a run that has tables: a fault is one line, and not the run's."""
    try:
        return report(folder)
    except FAULTS as error:
        say(f"no report: {str(error) or type(error).__name__}; palimpsest report {folder} tries again")
        return None


def run_of(folder: Path) -> Run:
    """The run that a folder, or one of other verdicts in it, belongs to."""
    rejudged = folder.resolve().parent.name == "rejudged" and not (folder / "run.json").exists()
    return read_run(folder.resolve().parent.parent if rejudged else folder)


def money_of(run: Run) -> Money:
    """What is spent and left of the run's budget, and the prices of the models that it asks."""
    prices = list_prices().replaced(run.study.prices)
    names = run.study.models.model_dump(include=set(OFFLINE)).values()
    told = {str(name): _price(prices, str(name)) for name in dict.fromkeys(names)}
    return Money(_budget(run), told, prices.as_of)


def _budget(run: Run) -> Sequence[str]:
    if not run.study.budget.limits or not Path(run.store).exists():
        return ()
    ledger = Ledger(Path(run.store))
    try:
        return spent_and_left(run.study.budget, partial(ledger.spent, run.name))
    finally:
        ledger.close()


def _price(prices: Prices, name: str) -> str:
    alias, _, model = name.partition(":")
    price = prices.of(alias, model)
    return "not known" if price is None else _in_words(price)


def _in_words(price: Price) -> str:
    if not price.prompt and not price.completion:
        return "free"
    cached = "" if price.cached is None else f", {price.cached:g} of them cached"
    return f"{price.prompt:g} in{cached}, {price.completion:g} out"


def comparison_report(a: str, b: str, out: Path, *, different_data: bool, resamples: int, seed: int) -> Path:
    """Write the report of two runs (`RUN` or `RUN:CONDITION`), A minus B, and say where it lies.

    Raises:
        BadInput: If one is no run, or if they are on different data and that is not allowed.
        TornTable: If a table is not whole.
    """
    left, right = sides(a, b, different_data=different_data)
    runs = run_of(left.run.folder), run_of(right.run.folder)
    path = write_comparison(
        left,
        right,
        out,
        (money_of(runs[0]), money_of(runs[1])),
        differences(*runs),
        resamples=resamples,
        seed=seed,
    )
    console.print(Text(f"report: {path}"), soft_wrap=True)
    return path
