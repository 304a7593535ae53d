"""The two sides of a comparison: which conditions of which runs stand opposite each other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd

from memory.errors import BadInput
from results.compare import Comparison, compare_rows, shared_conversations
from results.question_rows import read_question_rows
from results.report.sources import RunFolder, same_data
from results.statistics import PairedDifference, paired_differences

RANKING = ("turn_recall_5", "turn_mrr")


@dataclass(frozen=True, slots=True)
class Side:
    """A run, and the condition that was named with it; none stands for all."""

    run: RunFolder
    condition: str | None


@dataclass(frozen=True, slots=True)
class Pair:
    """Two conditions opposite each other.

    Attributes:
        label: What tables call it.
        compared: Their answers and verdicts, paired.
        ranking: How they rank evidence turns, by metric.
        ranking_by_type: The same by question type.
    """

    label: str
    a: str
    b: str
    compared: Comparison
    ranking: dict[str, PairedDifference]
    ranking_by_type: dict[str, dict[str, PairedDifference]]


def sides(a: str, b: str, *, different_data: bool) -> tuple[Side, Side]:
    """The runs of two sources, `RUN` or `RUN:CONDITION`.

    Args:
        a: The first.
        b: The second; where both name one folder, it is read once.
        different_data: Whether runs on different data may be compared.

    Raises:
        BadInput: If one is no run, or if their data differ and that is not allowed.
    """
    left = _side(a)
    right = _side(b)
    if left.run.folder.resolve() == right.run.folder.resolve():
        right = replace(right, run=left.run)
    if not different_data and not same_data(left.run.about, right.run.about):
        raise BadInput(
            f"{a} and {b} are results on different data ({_data(left.run)}; {_data(right.run)}): "
            "--different-data compares what questions they share"
        )
    return left, right


def conditions_opposite(a: Side, b: Side) -> list[tuple[str, str]]:
    """Which conditions are compared: those named; where one is named, that of the same name; else all of one name.

    Raises:
        BadInput: If there is no such condition, or none that both have.
    """
    left, right = _held(a.run), _held(b.run)
    for side, held in ((a, left), (b, right)):
        if side.condition is not None and side.condition not in held:
            raise BadInput(
                f"{side.run.folder}: has no condition {side.condition!r}; it holds: {', '.join(held)}"
            )
    if a.condition is not None or b.condition is not None:
        named = a.condition or b.condition or ""
        opposite = [(a.condition or named, b.condition or named)]
    else:
        opposite = [(name, name) for name in left if name in right]
    if not opposite or opposite[0][0] not in left or opposite[0][1] not in right:
        raise BadInput(
            f"the runs have no condition of one name ({', '.join(left)}; {', '.join(right)}): "
            "name one of each, as RUN:CONDITION"
        )
    if a.run is b.run and all(one == other for one, other in opposite):
        raise BadInput(f"both sides are {a.run.folder}: name two of its conditions, as RUN:CONDITION")
    return opposite


def pair(a: Side, b: Side, conditions: tuple[str, str], *, resamples: int, seed: int) -> Pair:
    """Compare two conditions in everything that a report shows."""
    left = read_question_rows(f"{_tables(a.run)}:{conditions[0]}")
    right = read_question_rows(f"{_tables(b.run)}:{conditions[1]}")
    names = f"A: {conditions[0]}", f"B: {conditions[1]}"
    compared = compare_rows(
        replace(left, name=names[0]), replace(right, name=names[1]), resamples=resamples, seed=seed
    )
    both = _ranked(a.run, conditions[0]).merge(
        _ranked(b.run, conditions[1]), on="question", suffixes=("_a", "_b")
    )
    one, other = conditions
    return Pair(
        label=one if one == other else f"{one} − {other}",
        a=names[0],
        b=names[1],
        compared=compared,
        ranking=_differences(both, resamples, seed),
        ranking_by_type={
            str(kind): _differences(rows, resamples, seed) for kind, rows in both.groupby("type_a", sort=True)
        },
    )


def _side(source: str) -> Side:
    folder, condition = Path(source), None
    if not folder.exists() and ":" in source:
        before, _, condition = source.rpartition(":")
        folder = Path(before)
    if not folder.is_dir():
        raise BadInput(f"{folder}: a report compares run folders, as RUN or RUN:CONDITION")
    return Side(RunFolder(folder), condition)


def _data(run: RunFolder) -> str:
    return f"{run.about.variant}, sha256 {run.about.sha256[:12]}"


def _held(run: RunFolder) -> list[str]:
    table = run.table("metrics", ["condition"])
    if table is None:
        raise BadInput(f"{run.folder} has no metrics yet: start the study again, it goes on where it stopped")
    return [str(name) for name in dict.fromkeys(table["condition"].to_pylist())]


def _tables(run: RunFolder) -> Path:
    path = run.path("metrics.parquet")
    return run.folder if path is None else path


def _ranked(run: RunFolder, condition: str) -> pd.DataFrame:
    columns = ("question", "history", "type", *RANKING)
    table = run.table("metrics", columns, where=[("condition", "==", condition)])
    return pd.DataFrame(columns=list(columns)) if table is None else table.to_pandas()


def _differences(both: pd.DataFrame, resamples: int, seed: int) -> dict[str, PairedDifference]:
    a, b = ({name: both[f"{name}_{side}"].to_numpy(np.float64) for name in RANKING} for side in "ab")
    clusters = shared_conversations(both.rename(columns={"history_a": "history"}))
    return paired_differences(a, b, clusters, resamples=resamples, seed=seed)
