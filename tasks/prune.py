"""Stage `prune`: one forgetting pass over a finished store; what is forgotten is archived beside what is kept."""

from __future__ import annotations

from typing import Literal

import numpy as np
import pyarrow as pa

from memory.forgetting.limits import Limit
from memory.forgetting.passes import forget
from memory.forgetting.policies import policy
from memory.forgetting.states import Clock
from memory.graph import MemoryGraph, stamp
from tasks.ingest import graph_of
from tasks.stage import Made, Stage, Work

ClockRule = Literal["last_turn", "latest"]


def final_clock(graph: MemoryGraph, rule: ClockRule) -> Clock:
    """When a pass after all ingestion happens.

    `last_turn`: at the date of the turn that was merged last, as in the published code, where a pass has the date of
    the session that triggers it. `latest`: at the latest date in the store.
    """
    times = np.array([stamp(moment.time) for moment in graph.moments.values()], "datetime64[us]")
    dated = times[~np.isnat(times)]
    if not len(dated):
        return Clock(np.datetime64("NaT", "us"), graph.turns)
    return Clock(dated[-1] if rule == "last_turn" else dated.max(), graph.turns)


def make(work: Work) -> Made:
    """Forget once."""
    params = work.params
    memory = graph_of(work, "graph")
    clock = final_clock(memory.graph, params["clock"])
    chosen = policy(params["policy"], params["policy_settings"])
    before = len(memory.graph)
    done = forget(
        memory.graph, chosen, Limit(**params["limit"]), clock, draw=params.get("draw", 0), archive=True
    )
    tables: dict[str, pa.Table] = {**memory.tables(), "forgetting": done.table}
    tables |= {f"archive_{name}": table for name, table in (done.archive or {}).items()}
    return Made(tables, {"kept": len(memory.graph), "forgotten": before - len(memory.graph)})


STAGE = Stage("prune", 1, make)
