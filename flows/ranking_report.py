"""What a ranking run prints: quality with intervals, what it costs, differences, and who was left out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from flows.console import as_table, console, print_table
from results import ranking_tables


def print_ranking(folder: Path, benchmark: str) -> None:
    """Print the tables of a ranking run; nothing where none of its questions was asked."""
    path = folder / "ranking.parquet"
    if not path.exists():
        return
    ranking, costs = pd.read_parquet(path), pd.read_parquet(folder / "ranking_costs.parquet")
    sides = list(dict.fromkeys(ranking["side"]))
    for side in sides:
        print_table(as_table(ranking_tables.ranking_text(ranking, costs, side, f"evidence on {benchmark}")))
    differences = folder / "ranking_differences.parquet"
    if differences.exists():
        print_table(as_table(ranking_tables.differences_text(pd.read_parquet(differences), sides[-1])))
    sizes = folder / "ranking_sizes.parquet"
    if sizes.exists():
        print_table(_sizes(pd.read_parquet(sizes)))
    _print_left_out(pd.read_parquet(folder / "ranking_left_out.parquet"))


def _sizes(sizes: pd.DataFrame) -> Table:
    title = "By turns in the store (the last is the whole one), of questions by lot"
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for name in ("condition", "turns", "session MRR", "turn MRR", "p50 / p95, ms", "bytes a turn", "n"):
        table.add_column(name, justify="left" if name == "condition" else "right")
    for row in sizes.to_dict("records"):
        times = f"{row['latency_p50_ms']:.2f} / {row['latency_p95_ms']:.2f}"
        quality = (
            f"{row[name]:.3f} [{row[f'{name}_low']:.3f}, {row[f'{name}_high']:.3f}]" for name in _SHOWN
        )
        shown = (f"{row['turns']:,.0f}", *quality, times, f"{row['bytes_a_turn']:,.0f}", f"{row['n']:,}")
        table.add_row(*map(Text, (str(row["condition"]), *shown)))
    return table


_SHOWN = ("session_mrr", "turn_mrr")


def _print_left_out(left_out: pd.DataFrame) -> None:
    total = left_out.drop(columns="type").sum()
    console.print(
        f"{total['asked']:,} of {total['questions']:,} questions are asked; left out: {total['abstention']:,} that "
        f"expect abstention, {total['without_evidence']:,} without evidence that can be found, {total['other_side']:,} "
        f"of the other side. {total['unresolved']:,} of their references to evidence match nothing."
    )
