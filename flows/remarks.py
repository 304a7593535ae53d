"""What a reader of a run's means should know: faults that were let through, flags of recalls and of calls."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
from rich.text import Text

from flows.console import console
from tasks.runs import Run


def print_remarks(folder: Path, run: Run) -> None:
    """Print the run's notes and the counts of all that was flagged, one line each; nothing where nothing was."""
    for note in run.notes:
        console.print(Text(f"note: {note}"), soft_wrap=True)
    for line in (*_extractions(folder), *_recalls(folder), *_calls(folder)):
        console.print(Text(line), soft_wrap=True)


def _counted(values: pd.Series) -> str:
    return ", ".join(f"{count:,} {name}" for name, count in values.value_counts().items())


def _extractions(folder: Path) -> list[str]:
    path = folder / "extractions.parquet"
    if not path.exists():
        return []
    dropped = pd.read_parquet(path, columns=["dropped"])["dropped"].explode().dropna()
    return [f"faults in extractions: {_counted(dropped.map(lambda d: d['kind']))}"] if len(dropped) else []


def _recalls(folder: Path) -> list[str]:
    path = folder / "recalls.parquet"
    if not path.exists():  # nothing was asked
        return []
    recalls = pd.read_parquet(path, columns=["condition", "flags"])
    flagged = recalls.explode("flags").dropna(subset=["flags"])
    return [
        f"recalls of {condition}: {_counted(rows['flags'])}"
        for condition, rows in flagged.groupby("condition", sort=False)
    ]


def _calls(folder: Path) -> list[str]:
    flags = pd.read_parquet(folder / "calls.parquet", columns=["flags"])["flags"]
    named = flags[flags != ""].str.split(" ").explode()
    return [f"calls: {_counted(named)}"] if len(named) else []
