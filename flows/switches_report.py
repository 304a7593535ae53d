"""What a run that explains itself prints: the switches that move most, and both systems at equal budgets."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from flows.console import console, print_table
from results.paper_tables import PaperTable
from results.rendering import number
from results.switches_text import budget_text, switch_text

MOST = 6
"""Switches of each profile that are printed."""
_BY = "turn_mrr"


def print_switches(folder: Path) -> None:
    """Print what the switches are worth, if the run says so; all of it is in its tables and figures."""
    if not (folder / "switches.parquet").exists():
        return
    switches = pd.read_parquet(folder / "switches.parquet")
    if len(largest := _largest(switches)):
        title = "switches of the graph that move its MRR most: difference [95 % interval] (n pairs)"
        _print(switch_text(largest), title)
    budgets = pd.read_parquet(folder / "equal_budget.parquet")
    _print(budget_text(budgets), "graph / flat: graph minus flat, at equal hits and at equal context tokens")
    for line in _of_sweep(pd.read_parquet(folder / "sweep.parquet")):
        console.print(Text(line), soft_wrap=True)


def _largest(table: pd.DataFrame) -> pd.DataFrame:
    """The rows of the switches of each profile that move the figure most, largest first."""
    moving = table[(table["figure"] == _BY) & (table["difference"].abs() > 0)]
    by_size = moving.sort_values("difference", key=abs, ascending=False, kind="stable")
    chosen = by_size.groupby("base", sort=False).head(MOST)[["base", "field"]]
    return chosen.merge(table, on=["base", "field"], how="left")


def _print(text: PaperTable, title: str) -> None:
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for name in text.header:
        table.add_column(name)
    for row in text.rows:
        table.add_row(*map(Text, row))
    print_table(table)


def _of_sweep(sweep: pd.DataFrame) -> list[str]:
    """On what share of the questions the floor acts, and how many paths run through hubs."""
    itself = sweep[(sweep["field"] == "hops") & sweep["own"]].set_index(["figure", "base"])
    told = []
    for figure, words in (
        ("floor_acts", "the floor keeps out a node that would be a root on"),
        ("hub_share", "paths of two hops and more run through a hub in"),
    ):
        shares = itself.loc[figure]
        each = (
            f"{base} {number(row.mean, 2)} [{number(row.low, 2)}, {number(row.high, 2)}] (n {row.n:,})"
            for base, row in zip(shares.index, shares.itertuples(index=False), strict=True)
        )
        told.append(f"{words} a share of: {', '.join(each)}")
    return told
