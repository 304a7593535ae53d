"""How well a recall ranks a question's evidence; no language model is asked.

Relevance is binary. A question without resolved evidence has no figure (none, never zero), so that means are
over questions that could be answered from what the benchmark points to.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

CUTOFFS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class RetrievalScores:
    """Ranking quality for one question; every figure within [0, 1].

    Attributes:
        evidence: How many distinct evidence turns (or sessions) the question has.
        recall: By cutoff k, the share of the evidence among the first k.
        reciprocal_rank: One over the rank of the first evidence; zero if none was recalled. Its mean is MRR.
        ndcg: By cutoff k, discounted gain 1 / log2(1 + rank) over that of the best possible ranking cut at k.
    """

    evidence: int
    recall: Mapping[int, float]
    reciprocal_rank: float
    ndcg: Mapping[int, float]

    def columns(self, unit: str) -> dict[str, float]:
        """Columns of the `metrics` table, with nDCG at the largest k; `unit` is `turn` or `session`."""
        largest = max(self.ndcg)
        return {
            **{f"{unit}_recall_{k}": share for k, share in self.recall.items()},
            f"{unit}_mrr": self.reciprocal_rank,
            f"{unit}_ndcg_{largest}": self.ndcg[largest],
        }


def turn_scores(
    ranked: Iterable[str], evidence: Iterable[str], cutoffs: Sequence[int] = CUTOFFS
) -> RetrievalScores | None:
    """Score a ranking of turns.

    Args:
        ranked: Turn ids, best first; a turn named again counts at its first place only.
        evidence: Ids of the turns that hold the answer.
        cutoffs: The values of k.

    Returns:
        The scores, or none where there is no evidence.
    """
    return _scores(ranked, evidence, cutoffs)


def session_scores(
    ranked: Iterable[str], evidence: Iterable[str], cutoffs: Sequence[int] = CUTOFFS
) -> RetrievalScores | None:
    """Score the ranking of sessions that a ranking of turns implies: each stands where its best turn does.

    Args:
        ranked: Turn ids, best first.
        evidence: Sessions that hold the answer, as `session_of` gives them or `session_id` makes them.
        cutoffs: The values of k, counted in sessions.

    Returns:
        The scores, or none where there is no evidence.
    """
    return _scores((session_of(turn) for turn in ranked), evidence, cutoffs)


def session_of(turn: str) -> str:
    """The session of a turn id: `<history>#<session position>`."""
    history, _, place = turn.rpartition("#")
    return f"{history}#{place.partition('.')[0]}"


def session_id(history: str, session: int) -> str:
    """The name under which `session_scores` knows the session at a zero-based position of a history."""
    return f"{history}#{session}"


def _scores(ranked: Iterable[str], evidence: Iterable[str], cutoffs: Sequence[int]) -> RetrievalScores | None:
    wanted = frozenset(evidence)
    if not wanted:
        return None
    ranks = [rank for rank, item in enumerate(dict.fromkeys(ranked), start=1) if item in wanted]
    return RetrievalScores(
        evidence=len(wanted),
        recall={k: sum(rank <= k for rank in ranks) / len(wanted) for k in cutoffs},
        reciprocal_rank=1 / ranks[0] if ranks else 0.0,
        ndcg={k: _gain(ranks, k) / _gain(range(1, len(wanted) + 1), k) for k in cutoffs},
    )


def _gain(ranks: Iterable[int], k: int) -> float:
    """Discounted cumulative gain of hits at these ranks, cut at k."""
    return sum(1 / math.log2(1 + rank) for rank in ranks if rank <= k)
