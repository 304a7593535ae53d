"""GAM's ablations beside the figures that are reported of them."""

from __future__ import annotations

from collections.abc import Mapping

import pandas as pd

from results.paper_tables import PaperTable
from results.rendering import number

REPORTED_F1: Mapping[str, float] = {
    "published": 40.00,
    "no_event_graph": 25.06,
    "no_state_switching": 32.58,
    "no_topics": 35.07,
    "no_multi_factor": 35.94,
}
"""Mean F1 in percent on LoCoMo with Qwen2.5-7B by profile. Second-hand: from reading notes of third parties, not from
the paper (facts on GAAMA, section 14)."""
REPORTED_TOKENS = 1_370
"""Tokens that the whole system takes a query; second-hand, and it is not said what they count."""

_FIGURES = ("f1", "turn_recall_5", "turn_recall_10", "context_tokens")


def gam_ablations(metrics: pd.DataFrame, profiles: Mapping[str, str]) -> PaperTable:
    """GAM as published and without each of its parts.

    `data` has a row a condition, the most complete first: condition, profile, questions, the means of F1, evidence
    recall of turns at 5 and 10 and tokens of the context (each over the questions that have one), and what is reported
    of F1 (a share) and of tokens, where anything is.

    Args:
        metrics: One row a question and condition, with the columns of the table `metrics`.
        profiles: The profile of each condition of GAM; others are left out.
    """
    order = {name: place for place, name in enumerate(REPORTED_F1)}
    conditions = sorted(profiles, key=lambda name: (order.get(profiles[name], len(order)), name))
    data = pd.DataFrame(
        [_line(metrics[metrics["condition"] == name], name, profiles[name]) for name in conditions]
    )
    return PaperTable(
        name="gam_ablations",
        caption="GAM and its ablations: means of this run, and what third parties report of LoCoMo with Qwen2.5-7B, "
        "which no figure of another model compares with.",
        data=data,
        header=(
            "Condition",
            "n",
            "F1",
            "recall@5",
            "recall@10",
            "Tokens",
            "F1, reported",
            "Tokens, reported",
        ),
        rows=tuple(
            (
                str(row["condition"]),
                f"{row['questions']:,}",
                *(number(row[name]) for name in _FIGURES[:3]),
                _whole(row["context_tokens"]),
                number(row["reported_f1"]),
                _whole(row["reported_tokens"]),
            )
            for row in data.to_dict("records")
        ),
    )


def _line(rows: pd.DataFrame, condition: str, profile: str) -> dict[str, object]:
    reported = REPORTED_F1.get(profile)
    return {
        "condition": condition,
        "profile": profile,
        "questions": len(rows),
        **{name: float(rows[name].mean()) for name in _FIGURES},
        "reported_f1": float("nan") if reported is None else reported / 100,
        "reported_tokens": float(REPORTED_TOKENS) if profile == "published" else float("nan"),
    }


def _whole(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:,.0f}"
