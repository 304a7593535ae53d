"""How OpenClaw makes one ranking of two searches (src/memory/hybrid.ts, mmr.ts, temporal-decay.ts)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from memory.models import Vectors
from memory.openclaw.settings import OpenClawSettings
from memory.ranking import best_first, min_max
from memory.vectors import Doubles, Mask, Rows

NO_CANDIDATE = -1.0
"""Below every score that a candidate can have: its cosine counts 0.7."""
_WORD = re.compile(r"\w+")


def fused(cosines: Vectors, bm25: Vectors, found: Mask, settings: OpenClawSettings, wanted: int) -> Doubles:
    """The score of each chunk; `NO_CANDIDATE` of one that is no candidate of either search.

    A chunk that only one search has among its candidates gets nothing for the other.

    Args:
        cosines: Of each chunk, -inf without a vector.
        bm25: Of each chunk.
        found: Which chunks lexical search finds at all.
        settings: The weights, and how BM25 becomes a score of 0 to 1.
        wanted: How many results are wanted.
    """
    count = wanted * settings.candidate_multiplier
    near = best_first(cosines, count)
    near = near[np.isfinite(cosines[near])]
    holding = np.flatnonzero(found)
    holding = holding[best_first(bm25[holding], count)]
    scores = np.zeros(len(cosines))
    scores[near] += settings.vector_weight * cosines[near]
    relevance = bm25[holding].astype(np.float64)
    if settings.text_score == "relevance":
        scores[holding] += settings.text_weight * relevance / (1 + relevance)
    else:
        scores[holding] += settings.text_weight
    candidate = np.zeros(len(cosines), np.bool_)
    candidate[near] = candidate[holding] = True
    return np.where(candidate, scores, NO_CANDIDATE)


def decayed(
    scores: Doubles, times: Sequence[datetime | None], asked: datetime | None, half_life_days: float
) -> Doubles:
    """Scores halved for every half-life of age; what has no date, or a later one than the question, keeps its score."""
    if asked is None:
        return scores
    ages = [max(0.0, (asked - time).total_seconds() / 86_400) if time else 0.0 for time in times]
    factors = np.exp2(-np.array(ages) / half_life_days)
    return np.where(scores == NO_CANDIDATE, scores, scores * factors)


def diversified(scores: Doubles, texts: Sequence[str], weight: float) -> Rows:
    """Rows in order of maximal marginal relevance (Carbonell and Goldstein, SIGIR 1998).

    One after the other is taken the row with the highest `weight * relevance - (1 - weight) * similarity`: relevance is
    the score scaled to 0..1 (all 1 where scores are equal), similarity the highest Jaccard of words with a row taken
    before. Equal ones go to the higher score, then to the earlier row.

    Args:
        scores: Of each row.
        texts: The text of each row.
        weight: What relevance counts, 0 to 1.
    """
    relevance = min_max(scores) if np.ptp(scores) > 0 else np.ones(len(scores))
    words = [frozenset(_WORD.findall(text.lower())) for text in texts]
    similarity = np.zeros(len(scores))
    left = list(np.argsort(-scores, kind="stable"))
    taken: list[int] = []
    while left:
        value = weight * relevance[left] - (1 - weight) * similarity[left]
        taken.append(int(left.pop(int(np.argmax(value)))))
        for row in left:
            similarity[row] = max(similarity[row], _jaccard(words[taken[-1]], words[row]))
    return np.array(taken, np.intp)


def _jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """The share of words that two texts have in common; two without words are equal."""
    return len(a & b) / len(a | b) if a or b else 1.0
