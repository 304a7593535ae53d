"""PageRank over the memory's edges, by power iteration on a sparse matrix."""

from __future__ import annotations

import math

import numpy as np
from pydantic import BaseModel, ConfigDict, Field
from scipy.sparse import csr_array

from memory.forgetting.states import Clock, Doubles, Mask, Scored, States


class PageRankSettings(BaseModel):
    """Settings of PageRank."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    damping: float = Field(0.85, gt=0, lt=1)
    """Chance of following an edge rather than starting anywhere again."""
    tolerance: float = Field(1e-10, gt=0)
    """Bound on the summed error."""


def pagerank(states: States, clock: Clock, settings: PageRankSettings) -> Scored:
    """PageRank of the undirected multigraph; time plays no part.

    A self-loop counts once; the mass of an item without edges goes to all.
    """
    n = len(states)
    if not n:
        return Scored(np.zeros(0), {})
    spread, dangling = _transitions(states)
    rank = np.full(n, 1 / n)
    # Each step shrinks the error by the damping factor, so their number is known beforehand.
    for _ in range(math.ceil(math.log(settings.tolerance / 2) / math.log(settings.damping))):
        lost = float(rank[dangling].sum())
        following = settings.damping * (spread @ rank + lost / n) + (1 - settings.damping) / n
        moved = float(np.abs(following - rank).sum())
        rank = following
        if moved * settings.damping <= settings.tolerance * (1 - settings.damping):
            break
    return Scored(rank, {})


def _transitions(states: States) -> tuple[csr_array[np.float64], Mask]:
    """The matrix whose column j spreads the mass of item j, and which items have no edge."""
    n = len(states)
    source, target = states.edges[:, 0], states.edges[:, 1]
    loop = source == target
    rows = np.concatenate([target, source[~loop]])
    columns = np.concatenate([source, target[~loop]])
    ends: Doubles = np.bincount(columns, minlength=n).astype(np.float64)
    matrix = csr_array((1 / ends[columns], (rows, columns)), shape=(n, n))
    return matrix, ends == 0
