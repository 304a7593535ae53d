"""Importance of the Selective Forgetting paper: four terms over all items at once (paper, section 3.6; facts, 13).

The code's weight for the type `episodic` is left out: no node has a type, so it is always 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory.forgetting.states import Clock, Doubles, Scored, States, Times

TERMS = ("recency", "frequency", "centrality", "turns")
_DAY = np.timedelta64(1, "D")


class ImportanceSettings(BaseModel):
    """Weights and readings of the four terms; the defaults are the profile `published`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    recency: float = Field(0.35, ge=0)
    frequency: float = Field(0.25, ge=0)
    centrality: float = Field(0.20, ge=0)
    turns: float = Field(0.20, ge=0)
    """Weights of the terms; they sum to 1."""
    half_life_days: float = Field(90, gt=0)
    """Days in which recency halves."""
    half_life_turns: float = Field(1000, gt=0)
    """Turns in which the term `turns` halves."""
    turns_since: Literal["last_access", "creation"] = "last_access"
    """What turns are counted from: the code takes the last access, the paper says creation (21.4). An item that was
    never accessed counts from its creation in both."""
    recency_fallback: Literal["created_at", "zero"] = "created_at"
    """Recency of an item that was never accessed: the code takes its creation date, the paper is silent (21.5)."""
    frequency_denominator: Literal["max_plus_2", "max_plus_1"] = "max_plus_2"
    """ln(2 + most accesses), as in the code, where the most accessed item stays below 1; or ln(1 + most accesses),
    where it has 1: the paper says `normalised` without saying by what."""
    centrality_base: float = Field(11, gt=1)
    """1 + the degree at which centrality is 1: the code's 11; the paper names none."""
    centrality_cap: bool = True
    """Whether centrality stops at 1, as in the code; without it a hub's goes on growing with the logarithm."""
    rounded: bool = True
    """Whether scores are rounded to 6 digits, as in the code. Scores that differ less are ties then."""

    @model_validator(mode="after")
    def _sum_to_one(self) -> Self:
        total = sum(self.weights.values())
        if abs(total - 1) > 1e-9:
            raise ValueError(
                f"the weights recency, frequency, centrality and turns sum to {total:.10g}, not to 1"
            )
        return self

    @property
    def weights(self) -> dict[str, float]:
        """Weight of each term."""
        return {term: float(getattr(self, term)) for term in TERMS}


PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {},
    # The paper's words where it has any; the code where the paper is silent.
    "paper": {"turns_since": "creation", "frequency_denominator": "max_plus_1", "rounded": False},
}


def terms(states: States, clock: Clock, settings: ImportanceSettings) -> dict[str, Doubles]:
    """The four terms, each `(n,)` in [0, 1] (centrality can pass 1 without its cap).

    A time that is unknown gives recency 0. A date after the clock counts as now, as does a turn after it.
    """
    accessed = states.last_accessed_at
    seen = last_seen(states) if settings.recency_fallback == "created_at" else accessed
    age = turns_since(states, clock, from_creation=settings.turns_since == "creation")
    most = float(states.access_count.max(initial=0))
    scale = np.log(most + (2 if settings.frequency_denominator == "max_plus_2" else 1))
    centrality = np.log1p(states.degree) / np.log(settings.centrality_base)
    return {
        "recency": np.exp2(-days_since(seen, clock) / settings.half_life_days),
        "frequency": np.log1p(states.access_count) / scale if scale else np.zeros(len(states)),
        "centrality": np.minimum(centrality, 1.0) if settings.centrality_cap else centrality,
        "turns": np.exp2(-age / settings.half_life_turns),
    }


def score(states: States, clock: Clock, settings: ImportanceSettings) -> Scored:
    """Importance of every item: the weighted sum of its terms."""
    found = terms(states, clock, settings)
    weights = settings.weights
    total = sum((weights[name] * found[name] for name in TERMS), np.zeros(len(states)))
    return Scored(np.round(total, 6) if settings.rounded else total, found)


def last_seen(states: States) -> Times:
    """When each item was last accessed, or was created if it never was."""
    never = np.isnat(states.last_accessed_at)
    return np.where(never, states.created_at, states.last_accessed_at)


def days_since(times: Times, clock: Clock) -> Doubles:
    """Days from some times to the clock: 0 for a later time, infinite for an unknown one."""
    days = (clock.now - times) / _DAY
    found: Doubles = np.where(np.isnan(days), np.inf, np.maximum(days, 0.0))
    return found


def turns_since(states: States, clock: Clock, *, from_creation: bool) -> Doubles:
    """Turns from each item's last access to the clock; from its creation if it was never accessed, or always."""
    never = states.turns_at_last_access < 0
    since = np.where(never | from_creation, states.turns_at_creation, states.turns_at_last_access)
    age: Doubles = np.maximum(clock.turns - since, 0).astype(np.float64)
    return age
