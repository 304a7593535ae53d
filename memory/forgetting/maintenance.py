"""Forgetting while a memory grows: after each turn a pass, if one is due."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memory.errors import BadInput
from memory.forgetting.limits import Limit, Schedule, due
from memory.forgetting.passes import Pass, forget, forget_turns
from memory.forgetting.policies import RetentionPolicy
from memory.forgetting.states import Clock
from memory.graph import stamp
from memory.protocol import MemorySystem
from memory.systems.flat import Flat
from memory.systems.graph import GraphMemory


@dataclass(frozen=True, slots=True)
class Maintenance:
    """How a memory is kept small: which policy scores, when a pass is due, and where it stops."""

    policy: RetentionPolicy
    schedule: Schedule
    limit: Limit


def maintain(
    memory: MemorySystem, maintenance: Maintenance, time: datetime | None, numbers: Mapping[str, int]
) -> Pass | None:
    """After a turn was remembered: the pass that is due, if one is. It is numbered by the turn counter.

    Args:
        memory: A graph or flat memory; is changed.
        maintenance: How it is kept small.
        time: Date of the turn's session.
        numbers: The turn counter when each turn was stored, by id; of a flat memory only, a graph keeps its own.

    Raises:
        BadInput: If the memory is neither.
    """
    if isinstance(memory, GraphMemory):
        turns, items = memory.graph.turns, len(memory.graph)
    elif isinstance(memory, Flat):
        turns, items = len(numbers), len(memory.turns)
    else:
        raise BadInput(f"a memory of type {type(memory).__name__} cannot forget; graph and flat can")
    nbytes = memory.size().bytes if maintenance.schedule.bytes is not None else 0
    if not due(maintenance.schedule, turns, items, nbytes):
        return None
    policy, limit, clock = maintenance.policy, maintenance.limit, Clock(stamp(time), turns)
    if isinstance(memory, GraphMemory):
        return forget(memory.graph, policy, limit, clock, number=turns)
    return forget_turns(memory, policy, limit, clock, numbers=numbers, number=turns)
