"""The commands that only read: tables, status, comparisons, lists; and `fetch` and `validate`."""

from __future__ import annotations

import json
import math
from collections.abc import Hashable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pyarrow as pa
from rich import box
from rich.table import Table
from rich.text import Text

from flows.arena_report import print_arena
from flows.association_report import print_association
from flows.budgets import spent_and_left
from flows.console import console, print_table
from flows.forgetting_report import print_forgetting
from flows.ranking_report import print_ranking
from flows.remarks import print_remarks
from flows.switches_report import print_switches
from flows.use_time_report import print_use_time
from flows.waterfall_report import print_waterfall
from memory.errors import BadInput
from results import history_sizes, rendering
from tasks.association_study import AssociationStudy
from tasks.forgetting_study import ForgettingStudy
from tasks.ranking_study import RankingStudy
from tasks.runs import Run, read_run
from tasks.use_time_study import UseTimeStudy

if TYPE_CHECKING:
    from tasks.models.ledger import Totals

HEADLINE = {
    "f1": "F1",
    "precision": "P",
    "recall": "R",
    "judge": "judge",
    "turn_recall_5": "R@5",
    "turn_mrr": "MRR",
    "turn_ndcg_10": "nDCG@10",
    "context_tokens": "tokens",
}


_COMPARED = ("f1", "judge")


def print_run(folder: Path) -> None:
    """Print a run's headline, what is missing in it, what it has cost, and where its tables lie."""
    run = read_run(folder)
    console.print(Text.assemble((run.study.study, "bold"), f" on {run.variant}"))
    if (folder / "history_sizes.parquet").exists():
        print_table(_sizes(folder))
    if isinstance(run.study, UseTimeStudy):
        print_use_time(folder)  # its arms are too many for tables of means
    elif isinstance(run.study, RankingStudy):
        print_ranking(folder, run.study.benchmark)
    elif run.asks:
        print_tables(folder)
    if isinstance(run.study, ForgettingStudy):
        print_forgetting(folder)
    if isinstance(run.study, AssociationStudy):
        print_association(folder)
    print_arena(folder)
    print_switches(folder)
    if not isinstance(run.study, UseTimeStudy):
        print_remarks(folder, run)
    for stage, counts in run.counts.items():
        bad = {
            name: number
            for name, number in counts.items()
            if name in ("failed", "unparsed", "pending") and number
        }
        if bad:
            console.print(Text(f"{stage}: " + ", ".join(f"{n} {name}" for name, n in bad.items())))
    print_cost(run)
    console.print(Text(f"Parquet: {folder}"), soft_wrap=True)


def _sizes(folder: Path) -> Table:
    """What the memories of one's own conversations come to."""
    table = Table(title=history_sizes.CAPTION, title_justify="left", box=box.SIMPLE)
    for name in history_sizes.HEADER:
        table.add_column(name, justify="left" if name == "condition" else "right")
    tables = (run_table(folder, name) for name in ("history_sizes", "history_growth"))
    for row in history_sizes.size_rows(*tables):
        table.add_row(*map(Text, row))
    return table


def print_tables(folder: Path) -> None:
    """Print the means of all conditions, the paired comparisons, and where answers were lost.

    Raises:
        BadInput: If the run has no tables yet.
    """
    print_table(_means(_metrics(folder), "overall"))
    pairs = run_table(folder, "table_7")
    if len(pairs):  # one condition is compared with none
        print_table(_comparisons(pairs))
    print_waterfall(folder)


_RANKING = ("turn_recall_5", "turn_mrr", "turn_ndcg_10")


def print_types(folder: Path, *, as_markdown: bool) -> None:
    """Print by question type how well each condition ranks the evidence turns, and where answers were lost.

    Raises:
        BadInput: If the run has no tables yet.
    """
    if (folder / "history_sizes.parquet").exists() and not (folder / "metrics.parquet").exists():
        raise BadInput(
            f"{folder}: its conversations came without questions, so that there is nothing by type"
        )
    metrics = _metrics(folder)
    conditions = list(dict.fromkeys(metrics["condition"]))
    header = ["type", "n", *conditions]
    rows = [_ranking_row(str(kind), rows, conditions) for kind, rows in metrics.groupby("type")]
    rows.append(_ranking_row("all", metrics, conditions))
    if as_markdown:
        print(rendering.markdown(header, rows, "Evidence turns: recall@5 / MRR / nDCG@10"))  # noqa: T201
        print_waterfall(folder, by_type=True, as_markdown=True)
        return
    table = Table(title="evidence turns: recall@5 / MRR / nDCG@10", title_justify="left", box=box.SIMPLE)
    for name in header:
        table.add_column(name, justify="left" if name == "type" else "right")
    for row in rows:
        table.add_row(*(Text(cell) for cell in row))
    print_table(table)
    print_waterfall(folder, by_type=True)


def _ranking_row(kind: str, rows: pd.DataFrame, conditions: list[str]) -> list[str]:
    asked = rows.dropna(subset=[_RANKING[0]])
    by_condition = asked.groupby("condition")[list(_RANKING)].mean().to_dict("index")
    cells = [
        " / ".join(f"{figure:.3f}" for figure in by_condition[name].values()) if name in by_condition else "-"
        for name in conditions
    ]
    return [kind, f"{asked['question'].nunique():,}", *cells]


def _metrics(folder: Path) -> pd.DataFrame:
    return run_table(folder, "metrics")


def run_table(folder: Path, name: str) -> pd.DataFrame:
    """A table of a run.

    Raises:
        BadInput: If it is not there yet, or damaged.
    """
    path = folder / f"{name}.parquet"
    if not path.exists():
        raise BadInput(
            f"{folder} has no table {name} yet: start the study again, it goes on where it stopped"
        )
    try:
        return pd.read_parquet(path)
    except (OSError, pa.ArrowException) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(
            f"{path}: damaged ({reason}); delete this file and start the study again, its parts are kept"
        ) from error


def _means(metrics: pd.DataFrame, title: str) -> Table:
    table = Table(
        title=f"{title}: means (over how many, where not all have the figure)",
        title_justify="left",
        box=box.SIMPLE,
    )
    table.add_column("condition")
    table.add_column("n", justify="right")
    for name in HEADLINE.values():
        table.add_column(name, justify="right")
    for condition, rows in metrics.groupby("condition", sort=False):
        cells = [_mean(rows[column], len(rows), column) for column in HEADLINE]
        table.add_row(str(condition), f"{len(rows):,}", *cells)
    return table


def _mean(figures: pd.Series, asked: int, column: str) -> str:
    there = figures.dropna()
    if there.empty:
        return "-"
    shown = f"{there.mean():,.0f}" if column == "context_tokens" else f"{there.mean():.3f}"
    return shown if len(there) == asked else f"{shown} ({len(there)})"


def _comparisons(pairs: pd.DataFrame) -> Table:
    table = Table(
        title="paired differences, A minus B, with 95 % intervals (n); * excludes zero, ** also after Holm",
        title_justify="left",
        box=box.SIMPLE,
    )
    table.add_column("A minus B")
    for metric in _COMPARED:
        table.add_column(HEADLINE[metric], justify="right")
    for (a, b), rows in pairs.groupby(["condition_a", "condition_b"], sort=False):
        by_metric = {row["metric"]: row for row in rows.to_dict("records")}
        table.add_row(f"{a} - {b}", *(_difference(by_metric[metric]) for metric in _COMPARED))
    return table


def _difference(row: Mapping[Hashable, Any]) -> str:
    star = ("**" if row["p_holm"] < 0.05 else "*") if row["significant"] else ""
    if math.isnan(row["low"]):  # one question has no interval
        return f"{row['difference']:+.3f} ({row['n']:,})" if row["n"] else "-"
    return f"{row['difference']:+.3f}{star} [{row['low']:+.3f}, {row['high']:+.3f}] ({row['n']:,})"


def cost_of(run: Run) -> tuple[Totals, list[str]] | None:
    """What the run's calls have cost, over all its attempts, and its budgets, a line each; none without a store."""
    from tasks.models.ledger import Ledger

    if not Path(run.store).exists():
        return None
    ledger = Ledger(Path(run.store))
    try:
        return ledger.totals(run.name), spent_and_left(run.study.budget, partial(ledger.spent, run.name))
    finally:
        ledger.close()


def print_cost(run: Run) -> None:
    """Print what the run's calls have cost, over all its attempts."""
    found = cost_of(run)
    if found is None:
        return
    spent, budgets = found
    unpriced = f", {spent.unpriced:,} of them without a known price" if spent.unpriced else ""
    console.print(
        Text(
            f"calls of this run: {spent.paid:,} made (${spent.usd:.4f}{unpriced}), {spent.replayed:,} replayed, "
            f"{spent.unusable:,} unusable, {spent.failed:,} failed"
        )
    )
    if spent.lost:
        console.print(
            Text(
                f"{spent.lost:,} requests were sent whose replies were never seen; if they are billed, that is up to "
                f"${spent.lost_usd:.4f} more, which budgets count"
            )
        )
    for line in budgets:
        console.print(Text(line))


def print_status(folder: Path) -> None:
    """Print how far a run is."""
    run = read_run(folder)
    console.print(
        Text(f"{run.name}: {run.status}{f' ({run.reason})' if run.reason else ''}, as of {run.updated}")
    )
    console.print(Text(f"data: {run.variant}, sha256 {run.sha256}"))
    for note in run.notes:
        console.print(Text(f"  {note}"))
    for stage, counts in run.counts.items():
        console.print(Text(f"{stage}: " + ", ".join(f"{number:,} {name}" for name, number in counts.items())))
    print_cost(run)


def print_comparison(a: str, b: str, *, as_json: bool, resamples: int, seed: int) -> None:
    """Compare two sources of per-question rows, paired: A minus B."""
    from results.compare import compare

    found = compare(a, b, resamples=resamples, seed=seed)
    if as_json:
        print(json.dumps(found.to_json(), allow_nan=False))  # noqa: T201
    else:
        console.print(found)


def fetch_benchmark(name: str, to: Path, base_url: str | None) -> None:
    """Download a benchmark and say where it lies."""
    from tasks.benchmarks.fetch import fetch

    got = fetch(name, to, base_url=base_url)
    how = "downloaded" if got.downloaded else "already there"
    console.print(Text(f"{got.path}: {how}, sha256 {got.sha256}"), soft_wrap=True)


def print_validation(file: Path) -> None:
    """Read a benchmark file strictly and print what is in it."""
    from tasks.benchmarks.validate import validate

    console.print(Text(str(validate(file))), soft_wrap=True)
