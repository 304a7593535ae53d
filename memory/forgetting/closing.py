"""The pass that ends a memory's building: after the last session it forgets down to a share of its bytes."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from memory.errors import BadInput
from memory.forgetting.limits import Limit
from memory.forgetting.passes import KeepsTurns, Pass, forget, forget_turns, states_of, states_of_turns
from memory.forgetting.policies import policy
from memory.forgetting.retention import RetentionSettings
from memory.forgetting.states import Clock, States
from memory.graph import MemoryGraph, stamp


def close_graph(graph: MemoryGraph, settings: RetentionSettings) -> Pass | None:
    """Forget nodes, if the settings name a policy; the share is of what `states.States.bytes` counts."""
    if not settings.retention:
        return None
    share = _share(states_of(graph, {"bytes"})[0], settings.kept)
    clock = _clock((moment.time for moment in graph.moments.values()), graph.turns)
    return forget(graph, policy(settings.retention), share, clock, settings.draw)


def close_turns(memory: KeepsTurns, settings: RetentionSettings) -> Pass | None:
    """Forget turns, if the settings name a policy. Turns have no edges: policies that go by these take the oldest."""
    if not settings.retention:
        return None
    share = _share(states_of_turns(memory)[0], settings.kept)
    clock = _clock((held.time for held in memory.turns), len(memory.turns))
    return forget_turns(memory, policy(settings.retention), share, clock, settings.draw)


def check_open(settings: RetentionSettings, *, closed: bool) -> None:
    """Hear nothing after forgetting: a share of what was heard says nothing if more is heard later.

    Raises:
        BadInput: If a memory that forgets has done so.
    """
    if closed and settings.retention:
        raise BadInput(
            f"retention {settings.retention}: the memory has forgotten after its last session and can hear no other; "
            "leave the setting out where questions are asked in between of sessions"
        )


def _share(states: States, kept: float) -> Limit:
    return Limit(bytes=round(kept * int(states.bytes.sum())))


def _clock(times: Iterable[datetime | None], turns: int) -> Clock:
    """The last date that is known, and how many turns were heard."""
    last = None
    for time in times:
        last = time or last
    return Clock(stamp(last), turns)
