"""The report of one run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pandas as pd

from results.report.association_tables import associations
from results.report.browser_data import Column, browser_data
from results.report.cost import calls_of, cost
from results.report.failures import failures
from results.report.forgetting_tables import forgetting
from results.report.headline import comparisons, headline
from results.report.packing import MOST_CHARACTERS, Packed, pack
from results.report.page import Figure, Page, render
from results.report.provenance import provenance
from results.report.ranking_tables import rankings
from results.report.run_tables import tables
from results.report.sizes import sizes
from results.report.sources import RunFolder
from results.report.switches import switches
from results.report.use_time_tables import use_times
from results.report.waterfall_tables import waterfall
from results.tables import write_bytes

_LARGEST_SVG = 400_000
"""Bytes above which a figure goes in as PNG."""


@dataclass(frozen=True, slots=True)
class Money:
    """What a report must be told, for it does not stand in the run's tables.

    Attributes:
        budget: A line for each limited amount: what is spent and left.
        prices: By model, its price in words.
        prices_of: The date of the prices.
    """

    budget: Sequence[str] = ()
    prices: Mapping[str, str] = field(default_factory=dict)
    prices_of: str = ""


def write_report(folder: Path, money: Money, out: Path | None = None) -> Path:
    """Write the report of a run, whole or not at all; returns the file.

    Args:
        folder: The run folder, or one of other verdicts in it.
        money: Budget and prices.
        out: The file; by default `report.html` in the folder.

    Raises:
        BadInput: If the folder is no run, or jinja2 is missing.
        TornTable: If a table is not whole.
    """
    path = out or folder / "report.html"
    write_bytes(path, render(_page(RunFolder(folder), money)))
    return path


def _page(run: RunFolder, money: Money) -> Page:
    metrics = run.frame("metrics")
    if metrics is not None and metrics.empty:
        metrics = None
    calls = calls_of(run)
    figured = [] if metrics is None else [headline(run, metrics), comparisons(run)]
    studied = [waterfall(run), switches(run), forgetting(run), associations(run), use_times(run)]
    tabled = [] if metrics is None else [*studied, tables(run, metrics)]
    sections = [
        *figured,
        rankings(run),
        sizes(run),
        cost(calls, money.budget),
        *tabled,
        failures(run, metrics, calls),
        provenance(run, money.prices, money.prices_of),
    ]
    figures = figures_of(run)
    about = run.about
    return Page(
        title=f"{about.study.get('study', 'run')} on {about.variant}",
        subtitle=f"{run.name}: {about.status}, as of {about.updated}",
        warning="" if about.status == "complete" else f"The run is {about.status}. {about.reason}",
        made=f"Palimpsest {about.versions.get('palimpsest', '')}",
        sections=[section for section in sections if section is not None],
        figures=figures,
        questions=None if metrics is None else _questions(run, metrics, figures),
    )


def _questions(run: RunFolder, metrics: pd.DataFrame, figures: Sequence[Figure]) -> Packed:
    columns = [Column(name, run, name) for name in dict.fromkeys(metrics["condition"].astype(str))]
    return pack(browser_data(columns), MOST_CHARACTERS - sum(len(figure.base64) for figure in figures))


def figures_of(run: RunFolder) -> list[Figure]:
    """The run's pictures, by name: SVG, or PNG where that is large."""
    folder = run.path("figures")
    if folder is None:
        return []
    found = []
    for svg in sorted(folder.glob("*.svg")):
        png = svg.with_suffix(".png")
        taken, kind = (png, "png") if svg.stat().st_size > _LARGEST_SVG and png.exists() else (svg, "svg+xml")
        found.append(Figure(svg.stem.replace("_", " "), kind, taken.read_bytes()))
    return found
