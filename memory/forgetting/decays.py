"""Other memories' rules for what fades, in closed form over the columns. No LLM is asked.

Each docstring says what its source computes from what is not in the columns, and what stands for it here.
"""

from __future__ import annotations

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from memory.forgetting.importance import days_since, last_seen
from memory.forgetting.states import Clock, Doubles, Scored, States

_REINFORCEMENTS = 200  # by then exp(-n / 10) is 2e-9, and further accesses change nothing


class EbbinghausSettings(BaseModel):
    """Settings of MemoryBank's forgetting curve."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    strength: float = Field(1.0, gt=0)
    """S of an item that was never recalled, in days."""
    gain: float = Field(1.0, ge=0)
    """How many days each recall adds to S."""


class MemoryStreamSettings(BaseModel):
    """Settings of Generative Agents' three scores."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    hourly_decay: float = Field(0.995, gt=0, lt=1)
    """What is left of recency after an hour."""
    recent: int = Field(50, ge=1)
    """How many of the newest items stand for what is going on now."""


class FadeMemSettings(BaseModel):
    """Settings of FadeMem (gaama facts, section 14)."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    base_rate: float = Field(0.1, gt=0)
    """Rate of decay a day at importance 0, and of the recency in importance."""
    importance_effect: float = Field(1.0, ge=0)
    """How strongly importance slows decay: the rate is multiplied by exp(-effect * importance)."""
    long_term_shape: float = Field(0.8, gt=0)
    """Exponent of age in the long-term layer."""
    short_term_shape: float = Field(1.2, gt=0)
    """Exponent of age in the short-term layer."""
    promote: float = Field(0.7, ge=0, le=1)
    """Importance from which an item enters the long-term layer."""
    demote: float = Field(0.5, ge=0, le=1)
    """Importance below which it leaves it."""
    reinforcement: float = Field(0.2, ge=0, le=1)
    """Share of the missing strength that a first access restores."""
    recent: int = Field(50, ge=1)
    """How many of the newest items stand for the present context."""


def ebbinghaus(states: States, clock: Clock, settings: EbbinghausSettings) -> Scored:
    """MemoryBank: R = exp(-t / S), t in days since the last recall (or creation), S grows by 1 with each recall.

    After 745 times S, R is 0 in a double: such items are ties, of which the older goes first.
    """
    days = days_since(last_seen(states), clock)
    strength: Doubles = settings.strength + settings.gain * states.access_count.astype(np.float64)
    return Scored(np.exp(-days / strength), {"strength": strength})


def memory_stream(states: States, clock: Clock, settings: MemoryStreamSettings) -> Scored:
    """Generative Agents: recency, importance and relevance, each scaled to [0, 1] over all items, averaged.

    Importance is an LLM's rating from 1 to 10 there. Here 1 + 9 min(1, ln(1 + degree) / ln 11) stands for it: what
    much else is tied to matters. So for flat turns, which have no edges, it is the same for all. Relevance is the
    cosine with the query there, with the mean vector of the newest items here.
    """
    hours = days_since(last_seen(states), clock) * 24
    recency: Doubles = np.exp(np.log(settings.hourly_decay) * hours)
    found: dict[str, Doubles] = {
        "recency": recency,
        "importance": 1 + 9 * np.minimum(1.0, np.log1p(states.degree) / np.log(11)),
        "relevance": relevance(states, settings.recent),
    }
    total = sum((_scaled(values) for values in found.values()), np.zeros(len(states)))
    return Scored(total / len(found), found)


def fademem(states: States, clock: Clock, settings: FadeMemSettings) -> Scored:
    """FadeMem: strength v = exp(-rate * age^shape), reinforced by accesses; the score is the strength now.

    Exact: the laws of decay, of the layer's shape and of importance I = (relevance + f / (1 + f) + recency) / 3
    (equal weights: the facts name none). Approximated, as the columns hold a count and the last access only:

    - relevance is the cosine with the mean vector of the newest items, below 0 as 0, not with a query;
    - f is the count of all accesses, where the paper lets old ones fade;
    - all accesses happen together at the last one, after one decay since creation: v += 0.2 (1 - v) exp(-n / 10) for
      the n-th, so none falls out of its 7-day window;
    - importance rises at accesses only, so an item is in the long-term layer if it reached `promote` at its last
      access and has not fallen below `demote` since; the present rate and shape hold for its whole age;
    - no conflicts and no fusion, which need an LLM.
    """
    close = np.maximum(relevance(states, settings.recent), 0.0)
    count = states.access_count.astype(np.float64)
    idle = days_since(last_seen(states), clock)
    lived = np.maximum(days_since(states.created_at, clock), idle)
    recency = np.exp(-settings.base_rate * idle)
    steady = close + count / (1 + count)
    importance = (steady + recency) / 3
    long_term = ((steady + 1) / 3 >= settings.promote) & (importance >= settings.demote)
    shape = np.where(long_term, settings.long_term_shape, settings.short_term_shape)
    rate = settings.base_rate * np.exp(-settings.importance_effect * importance)
    # How long it decayed before its accesses; nothing is known of an item without a date.
    before = np.subtract(lived, idle, out=np.zeros(len(states)), where=np.isfinite(lived))
    missing = (1 - np.exp(-rate * before**shape)) * _left_missing(states, settings.reinforcement)
    strength = (1 - missing) * np.exp(-rate * idle**shape)
    found = {"recency": recency, "relevance": close, "importance": importance, "strength": strength}
    return Scored(strength, found)


def relevance(states: States, recent: int) -> Doubles:
    """Cosine of each item's vector with the mean vector of the newest `recent` items; 0 where that is zero."""
    if not len(states):
        return np.zeros(0)
    centre = states.vectors[-recent:].mean(axis=0, dtype=np.float64)
    length = float(np.linalg.norm(centre))
    if length < 1e-12:
        return np.zeros(len(states))
    cosine: Doubles = (states.vectors @ (centre / length).astype(np.float32)).astype(np.float64)
    return cosine


def _scaled(values: Doubles) -> Doubles:
    """Min-max normalised; all 0.5 where all are equal."""
    least, most = values.min(initial=np.inf), values.max(initial=-np.inf)
    if most <= least:
        return np.full(len(values), 0.5)
    scaled: Doubles = (values - least) / (most - least)
    return scaled


def _left_missing(states: States, reinforcement: float) -> Doubles:
    """What is left of 1 - v after as many reinforcements as an item has accesses."""
    steps = 1 - reinforcement * np.exp(-np.arange(1, _REINFORCEMENTS + 1) / 10)
    left = np.concatenate([[1.0], np.cumprod(steps)])
    found: Doubles = left[np.minimum(states.access_count, _REINFORCEMENTS)]
    return found
