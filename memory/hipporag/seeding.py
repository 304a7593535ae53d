"""Where a question starts on the graph: at the phrases of the facts that serve it, and at passages like it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memory.hipporag.located import Places
from memory.vectors import Doubles


def min_max(scores: Doubles) -> Doubles:
    """Scores brought between 0 and 1; where all are equal, all are 1, so that a fact alone can be a seed."""
    if not len(scores):
        return scores
    low, high = float(scores.min()), float(scores.max())
    return np.ones(len(scores)) if low == high else (scores - low) / (high - low)


def phrase_seeds(facts: Sequence[tuple[Places, float]], passages_of: Doubles, most: int | None) -> Doubles:
    """What each phrase weighs as a seed.

    A phrase gets the mean of its facts' scores, divided by the number of passages that contain it.

    Args:
        facts: Places of subject and object, and the score, of each fact that is kept.
        passages_of: How many passages contain each phrase.
        most: Most phrases that are seeds, the heaviest, of equal ones that of the earlier fact; none is all.
    """
    scores: dict[int, list[float]] = {}
    for ends, score in facts:
        for phrase in ends.tolist():
            scores.setdefault(phrase, []).append(score / passages_of[phrase])
    weights = {phrase: sum(found) / len(found) for phrase, found in scores.items()}
    seeds = np.zeros(len(passages_of))
    for phrase in sorted(weights, key=lambda phrase: -weights[phrase])[:most]:
        seeds[phrase] = weights[phrase]
    return seeds


def passage_seeds(cosines: Doubles, places: Places, passages: int, weight: float) -> Doubles:
    """What each passage weighs as a seed: its min-max normalised cosine times a weight; nothing without a vector."""
    seeds = np.zeros(passages)
    seeds[places] = min_max(cosines) * weight
    return seeds
