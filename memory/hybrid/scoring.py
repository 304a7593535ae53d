"""How the searches of the hybrid become one score of each turn, as operations on whole arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from memory.hybrid.windows import Window
from memory.ranking import best_of_groups
from memory.vectors import Doubles, Mask, Rows

Ints = npt.NDArray[np.int32]


def best_of_people(scores: Doubles, groups: Rows, people: Mask) -> Doubles:
    """The highest score in each group among turns that a person said; -inf of a group that has none."""
    return best_of_groups(np.where(people, scores, -np.inf), groups)


def in_window(window: Window, days: Ints) -> Doubles:
    """What each session counts for lying in a window: 1 where it is the only one, less the more there are, 0 outside.

    It is the inverse document frequency of BM25, the window taken as a word, over that of a word in one session alone.

    Args:
        window: The days that the question speaks of.
        days: The day of each session as an ordinal; 0 for none.
    """
    inside = (days >= window.first.toordinal()) & (days <= window.last.toordinal()) & (days > 0)
    count, among = int(inside.sum()), len(days)
    return np.where(inside, _rarity(count, among) / _rarity(1, among), 0.0)


def _rarity(holding: int, among: int) -> float:
    return float(np.log(1 + (among - holding + 0.5) / (holding + 0.5)))


def lent(scores: Doubles, sittings: Rows, people: Mask, share: float) -> Doubles:
    """Scores with a share of those said just before and after in the same session, among turns of people."""
    joined = (sittings[1:] == sittings[:-1]) & people[1:] & people[:-1]
    found = scores.copy()
    found[1:] += share * np.where(joined, scores[:-1], 0.0)
    found[:-1] += share * np.where(joined, scores[1:], 0.0)
    return found


def in_sessions(of_sessions: Doubles, own: Doubles, sittings: Rows, gap: float) -> Doubles:
    """The score of each turn: that of its session, less `gap` times what it is behind the best of its session."""
    return of_sessions[sittings] - gap * (best_of_groups(own, sittings)[sittings] - own)
