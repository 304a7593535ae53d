"""What a forgetting run prints: Table 2, what each way to forget may have cost, and importance against chance."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich import box
from rich.table import Table

from flows.console import print_table

_TABLE_2 = {
    "nodes": "nodes",
    "edges": "edges",
    "bytes_paper_json": "JSON bytes",
    "precision": "P",
    "recall": "R",
    "f1": "F1",
    "judge": "judge",
    "turn_recall_5": "R@5",
    "turn_mrr": "MRR",
}
_STORE = "graph-store"


def print_forgetting(folder: Path) -> None:
    """Print the tables of a forgetting run."""
    print_table(_table_2(pd.read_parquet(folder / "table_2.parquet")))
    print_table(_losses(pd.read_parquet(folder / "noninferiority.parquet")))
    print_table(_against_chance(pd.read_parquet(folder / "frontier_differences.parquet")))


def _titled(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for number, name in enumerate(columns):
        table.add_column(name, justify="right" if number else "left")
    return table


def _table_2(arms: pd.DataFrame) -> Table:
    table = _titled("table 2: size and quality of each arm", "arm", "n", "judged", *_TABLE_2.values())
    for row in arms.to_dict("records"):
        cells = [
            _cell(row.get(name), whole=name in ("nodes", "edges", "bytes_paper_json")) for name in _TABLE_2
        ]
        table.add_row(str(row["arm"]), f"{row['questions']:,}", f"{row['judged']:,}", *cells)
    return table


def _cell(value: object, *, whole: bool) -> str:
    if not isinstance(value, int | float) or pd.isna(value):
        return "-"
    return f"{value:,.0f}" if whole else f"{value:.3f}"


def _losses(losses: pd.DataFrame) -> Table:
    margin = float(losses["margin"].iloc[0]) if len(losses) else 0.0
    table = _titled(
        f"losses against no forgetting: difference, lower end of the one-sided 95 % interval, margin {margin:g}",
        "arm",
        "metric",
        "n",
        "difference",
        "lower",
        "within the margin",
        "smallest loss that n could show",
    )
    for row in losses[losses["metric"].isin(["f1", "judge", "turn_recall_5"])].to_dict("records"):
        table.add_row(
            str(row["arm"]),
            str(row["metric"]),
            f"{row['n']:,}",
            f"{row['difference']:+.3f}",
            f"{row['lower']:+.3f}",
            "yes" if row["non_inferior"] else "not shown",
            f"{row['detectable']:.3f}",
        )
    return table


def _against_chance(differences: pd.DataFrame) -> Table:
    here = differences[(differences["store"] == _STORE) & (differences["policy"] == "importance")]
    table = _titled(
        "importance minus chance at the same number of nodes (** after Holm over all policies and levels)",
        "forgotten",
        "n",
        "survival",
        "recall@5",
        "MRR",
    )
    for level, rows in here.groupby("level"):
        by_figure = {row["figure"]: row for row in rows.to_dict("records")}
        cells = [
            f"{row['difference']:+.3f}{'**' if row['p_holm'] < 0.05 else ''} [{row['low']:+.3f}, {row['high']:+.3f}]"
            for row in (by_figure[name] for name in ("survival", "recall_5", "mrr"))
        ]
        table.add_row(f"{level:.1%}", f"{by_figure['mrr']['n']:,}", *cells)
    return table
