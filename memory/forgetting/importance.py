"""Importance of the Selective Forgetting paper: four terms over all items at once (paper, section 3.6; facts, 13).

The code's weight for the type `episodic` is left out: no node has a type, so it is always 1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from memory.forgetting.states import Clock, Counts, Doubles, Scored, States, Times

TERMS = ("recency", "frequency", "centrality", "turns")
_DAY_MICROSECONDS = 86_400_000_000


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
    seen = last_seen(states) if settings.recency_fallback == "created_at" else states.last_accessed_at
    age = turns_since(states, clock, from_creation=settings.turns_since == "creation")
    most = float(states.access_count.max(initial=0))
    scale = np.log(most + (2 if settings.frequency_denominator == "max_plus_2" else 1))
    centrality = _logarithms(states.degree, np.log(settings.centrality_base))
    if settings.centrality_cap:
        np.minimum(centrality, 1.0, out=centrality)
    return {
        "recency": _halved(days_since(seen, clock), settings.half_life_days),
        "frequency": _logarithms(states.access_count, scale or 1.0),  # no scale: nothing was ever accessed
        "centrality": centrality,
        "turns": _halved(age, settings.half_life_turns),
    }


def score(states: States, clock: Clock, settings: ImportanceSettings) -> Scored:
    """Importance of every item: the weighted sum of its terms."""
    found = terms(states, clock, settings)
    total, part = np.zeros(len(states)), np.empty(len(states))
    for name, weight in settings.weights.items():
        total += np.multiply(found[name], weight, out=part)
    if settings.rounded:
        np.round(total, 6, out=total)
    return Scored(total, found)


def last_seen(states: States) -> Times:
    """When each item was last accessed, or was created if it never was."""
    never = np.isnat(states.last_accessed_at)
    return np.where(never, states.created_at, states.last_accessed_at)


def days_since(times: Times, clock: Clock) -> Doubles:
    """Days from some times to the clock: 0 for a later time, infinite for an unknown one."""
    if np.isnat(clock.now):
        return np.full(len(times), np.inf, np.float64)
    # As whole microseconds: NumPy's own arithmetic of dates looks for NaT in every step, at three times the cost.
    now = int(clock.now.astype("datetime64[us]").astype(np.int64))
    microseconds = now - times.astype("datetime64[us]", copy=False).view(np.int64)
    days: Doubles = np.multiply(microseconds, 1 / _DAY_MICROSECONDS, dtype=np.float64)
    np.maximum(days, 0.0, out=days)
    days[np.isnat(times)] = np.inf
    return days


def turns_since(states: States, clock: Clock, *, from_creation: bool) -> Doubles:
    """Turns from each item's last access to the clock; from its creation if it was never accessed, or always."""
    since = states.turns_at_creation
    if not from_creation:
        since = np.where(states.turns_at_last_access < 0, since, states.turns_at_last_access)
    age = (clock.turns - since).astype(np.float64)
    return np.maximum(age, 0.0, out=age)


def _halved(age: Doubles, half_life: float) -> Doubles:
    """2^(-age / half-life), in the place of the ages: at this size fresh memory costs more than arithmetic."""
    np.divide(age, -half_life, out=age)
    return np.exp2(age, out=age)


def _logarithms(counts: Counts, scale: float) -> Doubles:
    """ln(1 + count) / scale."""
    found: Doubles = np.log1p(counts)
    np.divide(found, scale, out=found)
    return found
