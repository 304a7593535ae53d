"""What `--json` prints of a run: the same as its tables, as JSON values. A figure that does not exist is null."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd

from flows.reporting import HEADLINE, cost_of, run_table
from tasks.association_study import AssociationStudy
from tasks.benchmarks.validate import validate
from tasks.forgetting_study import ForgettingStudy
from tasks.ranking_study import RankingStudy
from tasks.runs import read_run
from tasks.study import Study
from tasks.use_time_study import UseTimeStudy

Record = dict[str, Any]
_OF_STUDY: dict[type[Study], tuple[str, ...]] = {
    ForgettingStudy: ("table_2", "noninferiority"),
    AssociationStudy: ("evidence_by_words", "evidence_differences", "quirks", "hub_summary", "gaama_table_3"),
    UseTimeStudy: ("use_time", "use_time_differences"),
}
"""The tables that only one kind of study has."""
_RANKING = (
    "ranking", "ranking_types", "ranking_ages", "ranking_differences", "ranking_costs", "ranking_sizes",
    "ranking_left_out",
)  # fmt: skip
"""The tables of the ranking study, which has no answers and so no others; there may be no question for one."""


def print_json(value: Any) -> None:
    """Print a value as one line of JSON."""
    print(json.dumps(value, allow_nan=False))  # noqa: T201


def status(folder: Path) -> Record:
    """How far a run is, what became of its rows, and what it has cost."""
    run = read_run(folder)
    shown = ("name", "status", "reason", "updated", "variant", "sha256", "notes", "counts")
    spent, budgets = cost_of(run) or (None, [])
    return {
        "study": run.study.study,
        "benchmark": run.study.benchmark,
        **run.model_dump(mode="json", include=set(shown)),
        "calls": None if spent is None else asdict(spent),
        "budget": budgets,
    }


def tables(folder: Path) -> Record:
    """A run's means by condition, overall and by question type, and its comparisons; what only its study has.

    Of one's own conversations also how large each memory is; without questions, nothing else.

    Raises:
        BadInput: If the run has no tables yet.
    """
    found: Record = {"run": status(folder)}
    if (folder / "history_sizes.parquet").exists():
        found["sizes"] = _records(run_table(folder, "history_sizes"))
    run = read_run(folder)
    if not run.asks:
        return found
    if isinstance(run.study, RankingStudy):
        there = (name for name in _RANKING if (folder / f"{name}.parquet").exists())
        return found | {name: _records(run_table(folder, name)) for name in there}
    metrics = run_table(folder, "metrics")
    found |= {
        "means": _means(metrics, ["condition"]),
        "types": _means(metrics, ["type", "condition"]),
        "comparisons": _records(run_table(folder, "table_7")),
    }
    for kind, names in _OF_STUDY.items():
        if isinstance(run.study, kind):
            found |= {name: _records(run_table(folder, name)) for name in names}
    return found


def validation(file: Path) -> Record:
    """What a benchmark's file holds, read strictly.

    Raises:
        BadInput: If it is no benchmark's file, or anything in it cannot be used.
    """
    return asdict(validate(file))


def _means(metrics: pd.DataFrame, by: list[str]) -> list[Record]:
    """A record a group: its questions, and of each figure the mean and over how many it is."""
    return [
        {
            **dict(zip(by, key, strict=True)),
            "questions": len(rows),
            **{name: {"mean": _value(rows[name].mean()), "n": int(rows[name].count())} for name in HEADLINE},
        }
        for key, rows in metrics.groupby(by, sort=False)
    ]


def _records(table: pd.DataFrame) -> list[Record]:
    return [{str(name): _value(value) for name, value in row.items()} for row in table.to_dict("records")]


def _value(value: Any) -> Any:
    return None if pd.isna(value) else value
