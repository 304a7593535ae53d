"""The tables of the ranking study, from its rows: quality with intervals, differences, ages, sizes and costs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np
import pandas as pd

from results.compare import shared_conversations
from results.ranking import FIGURES
from results.statistics import estimates, holm, paired_differences

SIDES = ("all", "development", "rest")
MAIN = ("session_mrr", "session_recall_5", "turn_mrr", "turn_recall_5")
"""The figures by age and size of the store."""
PERCENTILES = {"latency_p50_ms": 50, "latency_p95_ms": 95}
_HYBRID = "palimpsest"


def _by_side(rows: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    """The rows of each side that there is; `all` holds those apart, too."""
    for name in SIDES:
        own = rows if name == "all" else rows[rows["side"] == name]
        if len(own):
            yield name, own


def _unit(figure: str) -> dict[str, str]:
    unit, _, metric = figure.partition("_")
    return {"unit": unit, "metric": metric}


def _estimated(
    rows: pd.DataFrame, figures: Iterable[str], sampling: Mapping[str, int]
) -> Iterator[dict[str, Any]]:
    found = estimates({name: rows[name] for name in figures}, shared_conversations(rows), **sampling)
    for name, estimate in found.items():
        yield {**_unit(name), **asdict(estimate)}


def ranking(ranks: pd.DataFrame, **sampling: int) -> pd.DataFrame:
    """Means with intervals, a row a side, condition and figure, of the whole stores' rows."""
    return pd.DataFrame(
        [
            {"side": side, "condition": condition, **line}
            for side, rows in _by_side(ranks)
            for condition, own in rows.groupby("condition", sort=False)
            for line in _estimated(own, FIGURES, sampling)
        ]
    )


def ranking_types(ranks: pd.DataFrame, **sampling: int) -> pd.DataFrame:
    """As `ranking`, by question type."""
    return pd.DataFrame(
        [
            {"side": side, "type": kind, "condition": condition, **line}
            for side, rows in _by_side(ranks)
            for (kind, condition), own in rows.groupby(["type", "condition"], sort=False)
            for line in _estimated(own, FIGURES, sampling)
        ]
    )


def ranking_tag_noise(
    ranks: pd.DataFrame, noisy: Mapping[str, Mapping[str, Any]], **sampling: int
) -> pd.DataFrame:
    """As `ranking`, over notes that are made worse: by condition, change and share, where 0 is the notes as found.

    Args:
        ranks: The whole stores' rows, those over worse notes among them.
        noisy: By the name of such an arm, the condition it is made `of`, its `change` and the `share` of the tags.
        sampling: `resamples` and `seed` of the bootstrap.
    """
    arms = [(name, arm["of"], arm["change"], arm["share"]) for name, arm in noisy.items()]
    changes = dict.fromkeys((of, change) for _, of, change, _ in arms)
    points = [*((of, of, change, 0.0) for of, change in changes), *arms]
    return pd.DataFrame(
        [
            {"side": side, "condition": of, "change": change, "share": share, **line}
            for side, rows in _by_side(ranks)
            for name, of, change, share in points
            for line in _estimated(rows[rows["condition"] == name], FIGURES, sampling)
        ]
    )


def ranking_ages(ranks: pd.DataFrame, **sampling: int) -> pd.DataFrame:
    """Means with intervals by quarter of the evidence's age, in days, or in sessions where questions have no date."""
    by = "age_days" if ranks["age_days"].notna().any() else "age_sessions"
    known = ranks[ranks[by].notna()]
    age_of = known.drop_duplicates("question").set_index("question")[by]
    if age_of.nunique() < 2:
        return pd.DataFrame()
    quarters = pd.qcut(age_of, 4, labels=False, duplicates="drop")
    lines = []
    for quarter, questions in quarters.groupby(quarters):
        ages = age_of[questions.index]
        about = {
            "by": by.removeprefix("age_"),
            "quarter": int(quarter) + 1,
            "from": ages.min(),
            "to": ages.max(),
        }
        own = known[known["question"].isin(questions.index)]
        for condition, rows in own.groupby("condition", sort=False):
            lines += [{**about, "condition": condition, **line} for line in _estimated(rows, MAIN, sampling)]
    return pd.DataFrame(lines)


def ranking_differences(ranks: pd.DataFrame, systems: Mapping[str, str], **sampling: int) -> pd.DataFrame:
    """Every condition minus the best baseline of the side and unit, paired by question; p after Holm over a metric.

    Args:
        ranks: Rows of whole stores.
        systems: The system of each condition: every other than the hybrid is a baseline, and the best is that of the
            highest MRR on these very questions, which favours no one but the baseline.
        sampling: `resamples` and `seed` of the bootstrap.
    """
    lines: list[dict[str, Any]] = []
    for side, rows in _by_side(ranks):
        by_condition = {
            str(name): own.set_index("question") for name, own in rows.groupby("condition", sort=False)
        }
        for unit in ("session", "turn"):
            best = _best_baseline(by_condition, systems, f"{unit}_mrr")
            figures = [name for name in FIGURES if name.startswith(unit)]
            for name, own in by_condition.items():
                if best and name != best:
                    lines += _compared((name, own), (best, by_condition[best]), figures, side, sampling)
    table = pd.DataFrame(lines)
    if len(table):
        family = table.groupby(["side", "unit", "metric"], sort=False)["p"]
        table["p_holm"] = family.transform(lambda p: holm(p.tolist()))
    return table


def _best_baseline(rows: Mapping[str, pd.DataFrame], systems: Mapping[str, str], figure: str) -> str:
    """The baseline of the highest mean, empty where none has one."""
    means = pd.Series(
        {n: own[figure].mean() for n, own in rows.items() if systems[n] != _HYBRID}, dtype=float
    )
    return str(means.idxmax()) if means.notna().any() else ""


def _compared(
    a: tuple[str, pd.DataFrame],
    b: tuple[str, pd.DataFrame],
    figures: Sequence[str],
    side: str,
    sampling: Mapping[str, int],
) -> Iterator[dict[str, Any]]:
    both = a[1].index.intersection(b[1].index, sort=False)
    left, right = a[1].loc[both], b[1].loc[both]
    found = paired_differences(
        {name: left[name] for name in figures},
        {name: right[name] for name in figures},
        shared_conversations(left),
        **sampling,
    )
    for name, difference in found.items():
        figures_of = asdict(difference)
        means = {"mean_a": figures_of.pop("a"), "mean_b": figures_of.pop("b")}
        yield {"side": side, "a": a[0], "b": b[0], **_unit(name), **means, **figures_of}


def ranking_costs(ranks: pd.DataFrame) -> pd.DataFrame:
    """What a condition's whole stores take: time of a recall, bytes, and time to build, a row a condition."""
    ok = ranks[ranks["status"] == "ok"]
    return pd.DataFrame(
        [
            {"condition": name, "n": len(own), **_costs(own)}
            for name, own in ok.groupby("condition", sort=False)
        ]
    )


def _costs(rows: pd.DataFrame) -> dict[str, float]:
    """Times over recalls; sizes over stores, of which each counts once."""
    stores = rows.drop_duplicates(["history", "turns", "memory_bytes"])
    turns = stores["turns"].sum()
    latency = rows["latency_ms"].to_numpy()
    return {
        "turns": stores["turns"].mean(),
        **{name: float(np.percentile(latency, percent)) for name, percent in PERCENTILES.items()},
        "memory_bytes": stores["memory_bytes"].mean(),
        "bytes_a_turn": stores["memory_bytes"].sum() / turns,
        "build_ms_a_turn": stores["build_ms"].sum() / turns,
    }


def ranking_sizes(ranks: pd.DataFrame, **sampling: int) -> pd.DataFrame:
    """Quality and cost by size of the store, a row a condition and size; the last size is the whole store (null).

    Args:
        ranks: All rows; those of whole stores count where their question was also asked of a smaller one.
        sampling: `resamples` and `seed` of the bootstrap.
    """
    drawn = ranks.loc[ranks["size"].notna(), "question"].unique()
    own = ranks[ranks["question"].isin(drawn) & (ranks["status"] == "ok")]
    lines = []
    for (condition, size), rows in own.groupby(["condition", "size"], sort=False, dropna=False):
        line = {"condition": condition, "size": size, "n": len(rows), **_costs(rows)}
        found = estimates({name: rows[name] for name in MAIN}, shared_conversations(rows), **sampling)
        for name, estimate in found.items():
            line |= {name: estimate.mean, f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        lines.append(line)
    table = pd.DataFrame(lines)
    return table.sort_values(["condition", "size"], kind="stable", ignore_index=True) if len(table) else table
