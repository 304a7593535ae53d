"""What a run prints of its loss waterfall: what became of the questions of each condition."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich import box
from rich.table import Table
from rich.text import Text

from flows.console import print_table
from results.waterfall_types import ALL, waterfall_text


def print_waterfall(folder: Path, *, by_type: bool = False, as_markdown: bool = False) -> None:
    """Print where answers were lost, if the run has got so far: all types together, or each by itself."""
    path = folder / "waterfall_types.parquet"
    if not path.exists():
        return
    counted = pd.read_parquet(path)
    together = (counted["type"] == ALL) & (counted["tracked"] == ALL)
    text = waterfall_text(counted if by_type else counted[together])
    if as_markdown:
        print(text.markdown())  # noqa: T201
        return
    table = Table(
        title="where answers were lost: questions (share of the n with a verdict)",
        title_justify="left",
        box=box.SIMPLE,
    )
    hidden = () if by_type else ("Type",)
    shown = [place for place, name in enumerate(text.header) if name not in hidden]
    for place in shown:
        words = text.header[place]
        table.add_column(words.lower(), justify="left" if words in ("Condition", "Type") else "right")
    for row in text.rows:
        table.add_row(*(Text(row[place]) for place in shown))
    print_table(table)
