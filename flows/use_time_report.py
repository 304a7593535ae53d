"""What a use-time run prints: systems at equal budgets, what RD-Forget's parts are worth, and storage by use."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from flows.console import as_table, print_table
from results.use_time_text import TEXTS


def print_use_time(folder: Path) -> None:
    """Print the tables of a use-time run; of storage by use, all that is stored and what nothing dominates."""
    for name in ("use_time", "ablations", "joint"):
        path = folder / f"{name}.parquet"
        if path.exists() and len(table := pd.read_parquet(path)):
            if name == "joint":
                table = table[table["undominated"] | (table["kept"] == 1)]
            print_table(as_table(TEXTS[name](table)))
