"""Stage `analyse`: the tables of the forgetting study, from its frontier, its arms and its stores."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from results.frontier import against_chance, age_of, band, by_group, points
from results.noninferiority import non_inferiority
from results.schemas import METRICS
from tasks.load import loaded
from tasks.stage import Made, Stage, Work

_QUALITY = ("f1", "precision", "recall", "judge")
_RANKING = ("turn_recall_5", "turn_mrr")


def make(work: Work) -> Made:
    """Summarise the frontier, Table 2 and the non-inferiority of every forgetting arm."""
    params = work.params
    _, questions, _ = loaded(work)
    conversations = {question.id: question.history for question in questions}
    clusters = conversations if len(set(conversations.values())) < len(conversations) else None
    rows = _frontier(work, "frontier_rows")
    sizes = _frontier(work, "frontier_sizes")
    sampling = {"resamples": params["resamples"], "seed": params["seed"]}
    types = pd.Series({question.id: question.type for question in questions})
    metrics = _metrics(work)
    bands = pd.concat(
        [band(rows, figure).assign(figure=figure) for figure in ("survival", "recall_5", "mrr")]
    )
    tables = {
        "frontier": points(rows).merge(sizes, on=["store", "policy", "level", "draw"]),
        "frontier_chance": bands,
        "frontier_differences": against_chance(rows, clusters, **sampling),
        "frontier_types": by_group(rows, types),
        "frontier_ages": by_group(rows, age_of(_evidence_age(work))),
        "table_2": _table_2(work, metrics),
        "noninferiority": _noninferiority(metrics, params, clusters),
    }
    made = {name: pa.Table.from_pandas(table, preserve_index=False) for name, table in tables.items()}
    return Made(made, {"points": len(tables["frontier"])})


def _frontier(work: Work, table: str) -> pd.DataFrame:
    parts = [artefact for name, artefact in work.inputs.items() if name.startswith("frontier-")]
    return pd.concat([part.read(work.folder, table).to_pandas() for part in parts], ignore_index=True)


def _metrics(work: Work) -> pd.DataFrame:
    parts = [artefact for name, artefact in work.inputs.items() if name.startswith("score-")]
    return pa.concat_tables([part.read(work.folder, "metrics", METRICS) for part in parts]).to_pandas()


def _evidence_age(work: Work) -> pd.Series:
    """By question, the days from its newest evidence turn to the question; absent where a date is."""
    histories, questions, _ = loaded(work)
    said = {turn.id: s.date for h in histories.values() for s in h.sessions for turn in s.turns}
    ages: dict[str, float] = {}
    for question in questions:
        dates = [date for turn in question.evidence if (date := said.get(turn)) is not None]
        if question.date is not None and dates:
            ages[question.id] = max(0.0, (question.date - max(dates)).total_seconds() / 86_400)
    return pd.Series(ages, dtype=np.float64)


def _table_2(work: Work, metrics: pd.DataFrame) -> pd.DataFrame:
    """Size and quality of each arm over the one store (paper, Table 2)."""
    lines: list[dict[str, Any]] = []
    stored = work.read("storage", "storage").to_pandas()
    for arm, rows in metrics.groupby("condition", sort=False):
        line: dict[str, Any] = {
            "arm": arm,
            "questions": len(rows),
            "judged": int(rows["judge"].notna().sum()),
        }
        counts = work.params["sizes"].get(arm, {})
        line |= {"nodes": counts.get("nodes"), "edges": counts.get("edges")}
        formats = stored[stored["arm"] == arm].set_index("format")["bytes"]
        line |= {f"bytes_{name}": int(size) for name, size in formats.items()}
        line |= {name: rows[name].mean() for name in (*_QUALITY, *_RANKING)}
        lines.append(line)
    return pd.DataFrame(lines)


def _noninferiority(
    metrics: pd.DataFrame, params: dict[str, Any], clusters: dict[str, str] | None
) -> pd.DataFrame:
    by_arm = {arm: rows.set_index("question") for arm, rows in metrics.groupby("condition", sort=False)}
    lines: list[dict[str, Any]] = []
    for a, b in params["losses"]:
        left, right = by_arm[a], by_arm[b].reindex(by_arm[a].index)
        units = None if clusters is None else [clusters[question] for question in left.index]
        for metric in (*_QUALITY, *_RANKING):
            found = non_inferiority(
                left[metric],
                right[metric],
                params["margin"],
                units,
                resamples=params["resamples"],
                seed=params["seed"],
            )
            lines.append(
                {"arm": a, "against": b, "metric": metric, **{f: getattr(found, f) for f in found.__slots__}}
            )
    return pd.DataFrame(lines)


STAGE = Stage("analyse", 1, make)
