"""What an association run prints: evidence by words of context, differences, hubs, and Table 3."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich import box
from rich.table import Table

from flows.console import as_table, console, print_table
from results import association


def print_association(folder: Path) -> None:
    """Print the tables of an association run."""
    evidence = pd.read_parquet(folder / "evidence_by_words.parquet")
    print_table(as_table(association.evidence_text(evidence)))
    for name, caption in association.DIFFERENCES.items():
        found = pd.read_parquet(folder / f"{name}.parquet")
        if len(found):
            print_table(as_table(association.difference_text(found, name, caption)))
    hubs = pd.read_parquet(folder / "hub_summary.parquet")
    if len(hubs):
        print_table(_hubs(hubs))
    console.print(f"Rewards by category beside the paper's: {folder / 'gaama_table_3.md'}", soft_wrap=True)


def _hubs(hubs: pd.DataFrame) -> Table:
    title = (
        "GAAMA's graph and its entity-centric twin: hubs, and what PPR adds to evidence recall at 1,000 words"
    )
    table = Table(title=title, title_justify="left", box=box.SIMPLE)
    for name in (
        "condition",
        "graph",
        "PPR weight",
        "degree p99",
        "most",
        "ends at top 1 %",
        "PPR at top 1 %",
        "gain",
    ):
        table.add_column(name, justify="left" if name in ("condition", "graph") else "right")
    for row in hubs.to_dict("records"):
        gain = f"{row['difference']:+.3f} [{row['low']:+.3f}, {row['high']:+.3f}] ({row['n']:,})"
        figures = (f"{row['degree_p99']:.1f}", f"{row['degree_max']:.1f}", f"{row['top_share']:.3f}")
        shown = (*figures, f"{row['hub_mass']:.3f}", gain)
        table.add_row(str(row["condition"]), str(row["graph"]), f"{row['ppr_weight']:g}", *shown)
    return table
