"""Rankings out of scores: the best first, the best of the best groups first, and two scores made one."""

from __future__ import annotations

import numpy as np

from memory.models import Vectors
from memory.vectors import Doubles, Rows

RRF_K = 60
"""The constant of reciprocal-rank fusion: how much less a first place counts than 1 (Cormack et al., SIGIR 2009)."""


def best_first(scores: Vectors | Doubles, count: int) -> Rows:
    """Rows of the highest scores, highest first, equal ones in order of row; a whole sort is spared."""
    if count >= len(scores):
        return np.argsort(-scores, kind="stable")
    if count <= 0:
        return np.zeros(0, np.intp)
    last = np.partition(scores, -count)[-count]
    above = np.flatnonzero(scores > last)
    level = np.flatnonzero(scores == last)[: count - len(above)]
    return np.concatenate([above[np.argsort(-scores[above], kind="stable")], level])


def best_groups_first(
    of_groups: Vectors | Doubles, groups: Rows, scores: Vectors | Doubles, count: int
) -> Rows:
    """Rows of the best groups: group by group, best first, and inside a group by the rows' own scores.

    Equal groups come in order of their numbers, equal rows in order of row.

    Args:
        of_groups: The score of each group; none is without rows.
        groups: The group of each row.
        scores: The score of each row.
        count: How many rows are wanted at most.
    """
    order = best_first(of_groups, count)  # a group has a row at least
    place = np.full(len(of_groups), len(order))
    place[order] = np.arange(len(order))
    rows = np.flatnonzero(place[groups] < len(order))
    rows = rows[np.lexsort((-scores[rows], place[groups[rows]]))]
    return rows[:count]


def best_of_groups(scores: Vectors | Doubles, groups: Rows) -> Doubles:
    """The highest score in each group; groups are numbered from 0, and none is without rows."""
    best = np.full(int(groups.max(initial=-1)) + 1, -np.inf)
    np.maximum.at(best, groups, scores)
    return best


def min_max(scores: Vectors | Doubles) -> Doubles:
    """Scores moved and scaled so that the lowest is 0 and the highest 1; all 0 where they are equal.

    A row that cannot be scored (-inf) is 0 and has no part in the scale.
    """
    scaled = np.zeros(len(scores))
    known = np.isfinite(scores)
    wide = np.asarray(scores[known], np.float64)
    if len(wide) and (spread := float(wide.max() - wide.min())) > 0:
        scaled[known] = (wide - wide.min()) / spread
    return scaled


def reciprocal_ranks(scores: Vectors | Doubles) -> Doubles:
    """`1 / (60 + rank)` of each row, ranks from 1, equal scores in order of row; 0 of one that cannot be scored (-inf).

    The sum over several searches is reciprocal-rank fusion.
    """
    order = np.argsort(-scores, kind="stable")
    found = np.empty(len(scores))
    found[order] = 1 / (RRF_K + np.arange(1, len(scores) + 1))
    found[np.isneginf(scores)] = 0.0
    return found
