"""The figures of the forgetting study, drawn from the tables of a finished run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from memory.forgetting.importance import TERMS
from memory.forgetting.policies import POLICIES
from results import figures
from tasks.forgetting_plan import FORGETTING
from tasks.forgetting_study import ForgettingStudy

STORE = "graph-store"
QUALITIES = {
    "recall_5": "evidence recall@5 (share of evidence turns)",
    "mrr": "MRR of the first evidence turn",
    "survival": "evidence that survives (share of evidence turns)",
}
# Leave-one-out and sweeps stay in the table: a figure of thirty lines shows none.
SHOWN = tuple(name for name in POLICIES if not name.startswith(("random", "without")))


def draw(folder: Path, study: ForgettingStudy, to: Path | None = None) -> list[Path]:
    """Draw all figures as PNG and SVG.

    Args:
        folder: The run folder.
        study: The run's study.
        to: A folder for the figures; by default `figures/` of the run folder.

    Raises:
        BadInput: If the extra that draws is not installed.
    """
    to = to or folder / "figures"
    files: list[Path] = []
    for name, quality in QUALITIES.items():
        points, chance = _frontier(folder, name)
        files += figures.frontier(points, chance, to / f"frontier_{name}", quality)
    nodes = _nodes(folder)
    files += figures.scores(nodes, to / "scores", study.threshold)
    files += figures.forgotten(nodes, to / "forgotten")
    sizes = pd.read_parquet(folder / "growth.parquet").rename(columns={"arm": "condition", "turns": "turn"})
    return [*files, *figures.growth(sizes, to / "growth")]


def _frontier(folder: Path, figure: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The policies' points with their intervals, and the random draws, on the one store."""
    points = pd.read_parquet(folder / "frontier.parquet")
    points = points[(points["store"] == STORE) & (points["level"] > 0)]
    points = points.assign(
        share=points["forgotten"] / (points["forgotten"] + points["items"]), quality=points[figure]
    )
    differences = pd.read_parquet(folder / "frontier_differences.parquet")
    differences = differences[(differences["store"] == STORE) & (differences["figure"] == figure)]
    intervals = differences.assign(
        low=differences["chance"] + differences["low"], high=differences["chance"] + differences["high"]
    )[["policy", "level", "low", "high"]]
    lines = (
        points[points["policy"].isin(SHOWN)].drop(columns="forgotten").rename(columns={"share": "forgotten"})
    )
    chance = (
        points[points["policy"] == "random"].drop(columns="forgotten").rename(columns={"share": "forgotten"})
    )
    return lines.merge(intervals, on=["policy", "level"], how="left"), chance[["forgotten", "quality"]]


def _nodes(folder: Path) -> pd.DataFrame:
    """The nodes that the final pass looked at, with their ages."""
    table = pd.read_parquet(folder / "forgetting.parquet")
    table = table[table["arm"] == FORGETTING]
    created = pd.read_parquet(folder / "graphs" / "store" / "nodes.parquet", columns=["id", "created_at"])
    joined = table.merge(created, on="id", how="left")
    age = (joined["time"] - joined["created_at"]).dt.total_seconds() / 86_400
    columns = ["label", "degree", "score", *TERMS]
    return joined[columns].assign(age_days=age, forgotten=joined["fate"] == "forgotten")
