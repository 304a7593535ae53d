"""What a ranking run prints: quality, costs, differences, types, ages, sizes, and who was left out."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from flows.console import as_table, console, print_table
from results import ranking_text


def print_ranking(folder: Path, benchmark: str) -> None:
    """Print the tables of a ranking run; only who was left out where none of its questions was asked."""
    found = {path.stem: pd.read_parquet(path) for path in folder.glob("ranking*.parquet")}
    if "ranking" in found:
        ranking = found["ranking"]
        sides = list(dict.fromkeys(ranking["side"]))
        for side in sides:
            text = ranking_text.ranking_text(
                ranking, found["ranking_costs"], side, f"evidence on {benchmark}"
            )
            print_table(as_table(text))
        if "ranking_differences" in found:
            print_table(as_table(ranking_text.differences_text(found["ranking_differences"], sides[-1])))
    for name, written in ranking_text.BY_GROUP.items():
        if name in found:
            print_table(as_table(written(found[name])))
    if "ranking_left_out" in found:
        console.print(ranking_text.left_out_line(found["ranking_left_out"]))
    if rates := ranking_text.rate_line(pd.read_parquet(folder / "calls.parquet")):
        console.print(rates)
