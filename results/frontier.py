"""The compression-quality frontier: every policy at every level, beside chance at the same number of items.

The rows come from stage `frontier`: one a point (store, policy, level, draw) and question. Chance at a level is each
question's mean over the random draws, so that a policy and chance are compared question by question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import pandas as pd

from results.statistics import RESAMPLES, SEED, holm, paired_differences

FIGURES = ("survival", "recall_5", "recall_10", "mrr")
CHANCE = "random"
POINT = ["store", "policy", "level", "draw"]
AGE_DAYS = (0, 30, 90, 180, 365, 100_000)
AGES = ("under 30 days", "30 to 90", "90 to 180", "180 to 365", "a year and more")


def points(rows: pd.DataFrame) -> pd.DataFrame:
    """One row a point: means of the figures and `n`, the questions that have them."""
    grouped = rows.groupby(POINT, sort=False)
    means = grouped[list(FIGURES)].mean()
    return means.assign(n=grouped[FIGURES[0]].count()).reset_index()


def band(rows: pd.DataFrame, figure: str) -> pd.DataFrame:
    """How chance spreads over its draws: one row a store and level with `low`, `p5`, `mean`, `p95`, `high`, `draws`."""
    chance = points(rows[rows["policy"] == CHANCE]).groupby(["store", "level"])[figure]
    return pd.DataFrame(
        {
            "low": chance.min(),
            "p5": chance.quantile(0.05),
            "mean": chance.mean(),
            "p95": chance.quantile(0.95),
            "high": chance.max(),
            "draws": chance.count(),
        }
    ).reset_index()


def against_chance(
    rows: pd.DataFrame,
    clusters: dict[str, str] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> pd.DataFrame:
    """Every policy minus chance at the same store and level, paired by question.

    Args:
        rows: One row a point and question, with the columns of `POINT`, `question` and `FIGURES`.
        clusters: By question, the conversation it belongs to; none makes each question its own.
        resamples: Of every bootstrap.
        seed: Of every bootstrap.

    Returns:
        One row a store, level above zero, policy and figure: n, policy's and chance's mean, difference, interval, p,
        and p after Holm over all policies and levels of a store and figure.
    """
    by_question = (
        rows[rows["level"] > 0]
        .groupby(["store", "level", "policy", "question"], sort=False)[list(FIGURES)]
        .mean()
    )
    lines: list[dict[str, Any]] = []
    for (store, level), here in by_question.groupby(level=["store", "level"], sort=False):
        held = {
            str(policy): part.droplevel([0, 1, 2])
            for policy, part in here.groupby(level="policy", sort=False)
        }
        chance = held.pop(CHANCE, None)
        if chance is None:
            continue
        units = None if clusters is None else [clusters[question] for question in chance.index]
        for policy, part in held.items():
            found = paired_differences(
                {name: part.reindex(chance.index)[name] for name in FIGURES},
                {name: chance[name] for name in FIGURES},
                units,
                resamples=resamples,
                seed=seed,
            )
            lines += [
                {"store": store, "level": level, "policy": policy, "figure": name, **asdict(difference)}
                for name, difference in found.items()
            ]
    table = pd.DataFrame(lines).rename(columns={"a": "mean", "b": "chance"})
    return _adjusted(table, ["store", "figure"])


def _adjusted(table: pd.DataFrame, family: Sequence[str]) -> pd.DataFrame:
    """With Holm's p within each family."""
    if table.empty:
        return table
    adjusted = [
        pd.Series(holm(part["p"].tolist()), index=part.index)
        for _, part in table.groupby(list(family), sort=False)
    ]
    return table.assign(p_holm=pd.concat(adjusted))


def by_group(rows: pd.DataFrame, group: pd.Series) -> pd.DataFrame:
    """Means of the figures by store, policy, level and a group of questions, such as type or age of the evidence.

    Args:
        rows: One row a point and question.
        group: By question id, its group; a question without one is left out.
    """
    named = rows.assign(group=rows["question"].map(group)).dropna(subset=["group"])
    grouped = named.groupby(["store", "policy", "level", "group"], sort=False, observed=True)
    return grouped[list(FIGURES)].mean().assign(n=grouped["question"].nunique()).reset_index()


def age_of(days: pd.Series) -> pd.Series:
    """Names of the bins that ages in days fall into."""
    return pd.cut(days, AGE_DAYS, right=False, labels=list(AGES)).astype(str).where(days.notna())
