"""How much is forgotten, and when a pass is due: both are data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from memory.errors import BadInput
from memory.forgetting.states import Doubles, Mask, Scored, States


class Limit(BaseModel):
    """Where a policy stops; exactly one is given."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    threshold: float | None = Field(None, ge=0, le=1)
    """Items that score below it are forgotten; one that reaches it is kept (facts, section 14)."""
    fraction: float | None = Field(None, ge=0, le=1)
    """The share of the items that is forgotten, to the nearest whole item."""
    nodes: int | None = Field(None, ge=0)
    """How many items are kept at most."""
    bytes: int | None = Field(None, ge=0)
    """How many bytes the kept items have at most. An edge between a kept and a forgotten item is gone, but its half
    is still counted: a graph ends a little under its budget, never over."""

    @model_validator(mode="after")
    def _exactly_one(self) -> Self:
        given = sorted(self.model_fields_set & {name for name, value in self if value is not None})
        if len(given) != 1:
            stated = ", ".join(given) or "none"
            raise ValueError(f"give exactly one of threshold, fraction, nodes and bytes; given: {stated}")
        return self


class Schedule(BaseModel):
    """When a pass is due; each rule that is given can call for one."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    every: int | None = Field(None, ge=1)
    """After each so many turns."""
    end: bool = False
    """Once, after the last turn."""
    nodes: int | None = Field(None, ge=0)
    """Whenever there are more nodes than that."""
    bytes: int | None = Field(None, ge=0)
    """Whenever there are more bytes than that."""

    @model_validator(mode="after")
    def _at_least_one(self) -> Self:
        if not self.end and self.every is None and self.nodes is None and self.bytes is None:
            raise ValueError("give at least one of every, end, nodes and bytes")
        return self


SCHEDULES: Mapping[str, Mapping[str, Any]] = {
    "published": {"every": 400, "nodes": 49_999},  # the code: at 50,000 nodes and more
    "paper": {"end": True},
}
"""Facts, section 15: the code passes while it ingests and not at the end; the paper's experiment once, at the end."""


def limit(given: Mapping[str, Any]) -> Limit:
    """A limit from what the user gave.

    Raises:
        BadInput: Naming the field that is refused.
    """
    try:
        return Limit(**given)
    except ValidationError as error:
        raise BadInput(f"limit: {complaint(error)}") from error


def schedule(given: Mapping[str, Any]) -> Schedule:
    """A schedule from what the user gave.

    Raises:
        BadInput: Naming the field that is refused.
    """
    try:
        return Schedule(**given)
    except ValidationError as error:
        raise BadInput(f"schedule: {complaint(error)}") from error


def complaint(error: ValidationError) -> str:
    """The first thing that validation refuses, in one line that names its field."""
    first = error.errors(include_url=False)[0]
    field = ".".join(str(part) for part in first["loc"])
    message = first["msg"].removeprefix("Value error, ")
    return f"{field}: {message}, not {first['input']!r}" if field else message


def decide(scored: Scored, states: States, limit: Limit) -> Mask:
    """Which items are forgotten, `(n,)`: the lowest scores first, and of equal ones the older."""
    if limit.threshold is not None:
        return scored.score < limit.threshold
    if limit.fraction is not None:
        return _lowest(scored.score, round(limit.fraction * len(states)))
    if limit.nodes is not None:
        return _lowest(scored.score, max(0, len(states) - limit.nodes))
    return _lowest(scored.score, _to_fit(scored, states, limit.bytes or 0))


def due(schedule: Schedule, turns: int, nodes: int, bytes: int = 0, *, ended: bool = False) -> bool:
    """Whether a pass is due.

    Args:
        schedule: The rules.
        turns: The turn counter T, after a turn was merged.
        nodes: How many there are.
        bytes: How many there are; looked at only if the schedule names a number of them.
        ended: True in the one call after the last turn, which asks only whether a pass closes the run.
    """
    if ended:
        return schedule.end
    periodic = schedule.every is not None and turns > 0 and turns % schedule.every == 0
    crowded = schedule.nodes is not None and nodes > schedule.nodes
    heavy = schedule.bytes is not None and bytes > schedule.bytes
    return periodic or crowded or heavy


def _lowest(score: Doubles, count: int) -> Mask:
    """The `count` lowest; of those that tie with the last of them the first rows, which are the oldest."""
    if not count:
        return np.zeros(len(score), np.bool_)
    last = np.partition(score, count - 1)[count - 1]
    found: Mask = score < last
    found[np.flatnonzero(score == last)[: count - int(found.sum())]] = True
    return found


def _to_fit(scored: Scored, states: States, budget: int) -> int:
    """How many of the lowest have to go for the others to fit into a number of bytes."""
    excess = int(states.bytes.sum()) - budget
    if excess <= 0:
        return 0
    freed = np.cumsum(states.bytes[np.argsort(scored.score, kind="stable")])
    return int(np.searchsorted(freed, excess)) + 1
