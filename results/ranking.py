"""How well memories rank a question's evidence: a row a question and condition, and its figures.

Ranks count from 1. A session stands where its best turn does. A figure is null where a question has no such evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any

import pyarrow as pa

from results.retrieval_metrics import session_of, session_scores, turn_scores

CUTOFFS = (1, 3, 5, 10)
WORDS = 1000
"""Words of context, within which turns are taken best first as a context shows them, with speaker and date."""
UNITS = ("session", "turn")
METRICS = ("mrr", *(f"recall_{k}" for k in CUTOFFS), "ndcg_10")
WITHIN = f"within_{WORDS}_words"
CONTENT = "content_mrr"
"""By the permissive rule: one over the rank of the first turn that says the reference answer, whoever labelled it."""
FIGURES = (*(f"{unit}_{metric}" for unit in UNITS for metric in METRICS), f"turn_{WITHIN}", CONTENT)
"""The columns that are shares."""

_RANKS: pa.DataType = pa.list_(pa.int32())
_FIELDS: list[pa.Field[Any]] = [
    pa.field("question", pa.string()),
    pa.field("history", pa.string()),
    pa.field("type", pa.string()),
    pa.field("side", pa.string()),  # development | rest | apart
    pa.field("condition", pa.string()),
    pa.field("store", pa.string()),  # histories | together
    pa.field("size", pa.int32()),  # turns that the store was cut to; null where it is whole
    pa.field("status", pa.string()),  # ok | failed
    pa.field("reason", pa.string()),
    pa.field("final", pa.bool_()),
    pa.field("turns", pa.int64()),  # in the store
    pa.field("sessions", pa.int64()),
    pa.field("age_days", pa.float64()),
    pa.field("age_sessions", pa.float64()),
    pa.field("ranked", pa.int64()),  # how many turns the memory ranked
    pa.field("turn_ranks", _RANKS),  # of each evidence turn, rising; those that are not ranked are left out
    pa.field("session_ranks", _RANKS),
    pa.field("evidence_turns", pa.int32()),
    pa.field("evidence_sessions", pa.int32()),
    *(pa.field(figure, pa.float64()) for figure in FIGURES),
    pa.field("latency_ms", pa.float64()),
    pa.field("build_ms", pa.float64()),
    pa.field("memory_bytes", pa.int64()),
]
RANKS = pa.schema(_FIELDS)


def ranked_figures(
    ranked: Sequence[str],
    turns: Collection[str],
    sessions: Collection[str],
    words_of: Callable[[str], int],
    saying: Collection[str] = (),
) -> dict[str, Any]:
    """The ranks and figures of one ranking, as columns of `RANKS`.

    Args:
        ranked: Distinct turn ids, best first.
        turns: Ids of the evidence turns.
        sessions: Names of the evidence sessions, as `results.retrieval_metrics.session_of` gives them.
        words_of: How many words a turn takes in a context.
        saying: Ids of the turns that say the reference answer (`results.content_match.reference_relevant`).
    """
    found: dict[str, Any] = {
        "ranked": len(ranked),
        "turn_ranks": _ranks(ranked, turns),
        "session_ranks": _ranks(list(dict.fromkeys(map(session_of, ranked))), sessions),
        "evidence_turns": len(turns),
        "evidence_sessions": len(sessions),
    }
    for unit, scores in (
        ("turn", turn_scores(ranked, turns, CUTOFFS)),
        ("session", session_scores(ranked, sessions, CUTOFFS)),
    ):
        if scores is not None:
            found |= scores.columns(unit)
    if turns:
        found[f"turn_{WITHIN}"] = _share_within(ranked, turns, words_of)
    if saying:
        found[CONTENT] = next((1 / rank for rank in _ranks(ranked, saying)), 0.0)
    return found


def _ranks(ranked: Sequence[str], wanted: Collection[str]) -> list[int]:
    return [rank for rank, name in enumerate(ranked, 1) if name in wanted]


def _share_within(ranked: Sequence[str], turns: Collection[str], words_of: Callable[[str], int]) -> float:
    """Share of the evidence among the first turns that together have at most so many words."""
    left, found = WORDS, 0
    for turn in ranked:
        left -= words_of(turn)
        if left < 0:
            break
        found += turn in turns
    return found / len(turns)
