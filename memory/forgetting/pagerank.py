"""PageRank over the memory's edges."""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from memory.diffusion import Diffusion
from memory.forgetting.states import Clock, Scored, States


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
    diffusion = Diffusion.of_edges(n, states.edges, np.ones(len(states.edges)))
    # An error shrinks by the damping factor a step, so a step's change bounds what is left.
    change = settings.tolerance * (1 - settings.damping) / settings.damping
    return Scored(diffusion.rank(np.ones(n), damping=settings.damping, tolerance=change), {})
