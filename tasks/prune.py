"""Stage `prune`: one forgetting pass over a finished store; what is forgotten is archived beside what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Literal

import numpy as np
import pyarrow as pa

from memory.forgetting.limits import Limit
from memory.forgetting.passes import forget
from memory.forgetting.policies import policy
from memory.forgetting.states import Clock
from memory.graph import stamp
from tasks.ingest import graph_of
from tasks.stage import Made, Stage, Work

ClockRule = Literal["last_turn", "latest"]


def clock_at(dates: Sequence[datetime | None], turns: int, rule: ClockRule) -> Clock:
    """When a pass after all ingestion happens.

    `last_turn`: at the last date that was merged, as in the published code, where a pass has the date of the session
    that triggers it. `latest`: at the latest date in the store. Without any date, at none.
    """
    times = np.array([stamp(date) for date in dates], "datetime64[us]")
    dated = times[~np.isnat(times)]
    if not len(dated):
        return Clock(np.datetime64("NaT", "us"), turns)
    return Clock(dated[-1] if rule == "last_turn" else dated.max(), turns)


def make(work: Work) -> Made:
    """Forget once."""
    params = work.params
    memory = graph_of(work, "graph")
    moments = memory.graph.moments.values()
    clock = clock_at([moment.time for moment in moments], memory.graph.turns, params["clock"])
    chosen = policy(params["policy"], params["policy_settings"])
    before = len(memory.graph)
    done = forget(
        memory.graph, chosen, Limit(**params["limit"]), clock, draw=params.get("draw", 0), archive=True
    )
    tables: dict[str, pa.Table] = {**memory.tables(), "forgetting": done.table}
    tables |= {f"archive_{name}": table for name, table in (done.archive or {}).items()}
    return Made(tables, {"kept": len(memory.graph), "forgotten": before - len(memory.graph)})


STAGE = Stage("prune", 1, make)
