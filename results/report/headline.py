"""The headline of a run: how each condition fares, with intervals, and what was compared."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from results.compare import shared_conversations
from results.rendering import interval, number, signed
from results.report.elements import Estimated, Section, TextTable, chart
from results.report.sources import RunFolder
from results.statistics import RESAMPLES, SEED, estimates

HEADLINE = {
    "f1": "F1",
    "judge": "Judged correct",
    "turn_recall_5": "Evidence turns, recall@5",
    "turn_mrr": "Evidence turns, MRR",
}
_COMPARED = {"f1": "F1", "judge": "Judged correct", "precision": "Precision", "recall": "Recall"}


def headline(run: RunFolder, metrics: pd.DataFrame) -> Section:
    """How each condition fares, with intervals and n, and which of them were compared."""
    charts = [chart(title, "Condition", rows) for title, rows in _means(run, metrics)]
    return Section(
        "headline", "Headline", charts=tuple(charts), lines=(_over(run, metrics), *_unlike(metrics))
    )


def comparisons(run: RunFolder) -> Section | None:
    """The paired differences of the run (its table 7); none if it compares nothing."""
    pairs = run.frame("table_7")
    if pairs is None or pairs.empty:
        return None
    charts, rows = [], []
    for metric, title in _COMPARED.items():
        own = pairs[pairs["metric"] == metric].to_dict("records")
        found = [
            Estimated(
                f"{r['condition_a']} − {r['condition_b']}", r["difference"], r["low"], r["high"], r["n"]
            )
            for r in own
        ]
        rows += [_pair_row(title, r) for r in own]
        if metric in ("f1", "judge") and any(math.isfinite(each.value) for each in found):
            charts.append(chart(f"{title}: A minus B", "A − B", found, difference=True))
    header = ("A − B", "Metric", "n", "A", "B", "Difference", "95 % interval", "p", "p (Holm)")
    caption = "Every paired difference (the paper's Table 7); Holm's family is the whole table"
    study = run.about.study
    method = (
        f"Differences are paired by question. A filled dot's interval excludes zero, unadjusted; a hollow one's does "
        f"not. Percentile bootstrap, {study.get('resamples', 10_000):,} resamples, seed {study.get('seed', 0)}."
    )
    table = TextTable(caption, header, tuple(rows), folded=True)
    return Section("compared", "What was compared", lines=(method,), charts=tuple(charts), tables=(table,))


def _means(run: RunFolder, metrics: pd.DataFrame) -> list[tuple[str, list[Estimated]]]:
    """By title of a metric, the estimates of all conditions; a metric that no question has is left out."""
    names = list(dict.fromkeys(metrics["condition"].astype(str)))
    found = _published(run)
    unknown = [metric for metric in HEADLINE if any((name, metric) not in found for name in names)]
    found |= _estimated(run.about.study, metrics, unknown)
    lines = {title: [found[name, metric] for name in names] for metric, title in HEADLINE.items()}
    return [(title, rows) for title, rows in lines.items() if any(row.n for row in rows)]


def _published(run: RunFolder) -> dict[tuple[str, str], Estimated]:
    """The estimates of the run's table 6, by condition and metric."""
    table = run.frame("table_6")
    return {
        (str(row["condition"]), str(row["metric"])): Estimated(
            str(row["condition"]), row["mean"], row["low"], row["high"], int(row["n"])
        )
        for row in ([] if table is None else table.to_dict("records"))
    }


def _estimated(
    study: Mapping[str, Any], metrics: pd.DataFrame, wanted: Sequence[str]
) -> dict[tuple[str, str], Estimated]:
    """The same for other metrics, all conditions at once: those that have the same questions share their resamples."""
    if not wanted:
        return {}
    asked = metrics.drop_duplicates("question").set_index("question")
    rows = {str(name): own.set_index("question") for name, own in metrics.groupby("condition", sort=False)}
    figures = {
        (name, metric): own[metric].reindex(asked.index).to_numpy(dtype=float)
        for name, own in rows.items()
        for metric in wanted
    }
    found = estimates(
        {f"{name} {metric}": column for (name, metric), column in figures.items()},
        shared_conversations(asked),
        resamples=int(study.get("resamples", RESAMPLES)),
        seed=int(study.get("seed", SEED)),
    )
    return {
        (name, metric): Estimated(name, own.mean, own.low, own.high, own.n)
        for name, metric in figures
        for own in (found[f"{name} {metric}"],)
    }


def _over(run: RunFolder, metrics: pd.DataFrame) -> str:
    questions, histories = metrics["question"].nunique(), metrics["history"].nunique()
    unit = "conversations" if histories < questions else "questions"
    return (
        f"{metrics['condition'].nunique()} conditions over {questions:,} questions of {histories:,} histories. "
        f"Each line is a mean with its 95 % percentile bootstrap interval over {unit}; n counts the questions that "
        "have the figure."
    )


def _unlike(metrics: pd.DataFrame) -> list[str]:
    """Conditions that rank nothing have no ranking figures: say so, for a dash is not a zero."""
    ranked = metrics.groupby("condition", sort=False)["turn_mrr"].count()
    unranked = [str(name) for name, count in ranked.items() if not count]
    return [f"Not ranked, and so without recall and MRR: {', '.join(unranked)}."] if unranked else []


def _pair_row(title: str, row: dict[Any, Any]) -> tuple[str, ...]:
    return (
        f"{row['condition_a']} − {row['condition_b']}",
        title,
        f"{row['n']:,}",
        number(row["a"]),
        number(row["b"]),
        signed(row["difference"]),
        interval(row["low"], row["high"], sign=True),
        number(row["p"], 4),
        number(row["p_holm"], 4),
    )
