"""Stage `frontier`: one way to forget, at every level, measured on one store without any LLM.

Every point is a mask over the items of a store that is frozen once. What is measured: whether something still stands
on each evidence turn, and how the evidence ranks in what would be recalled. All policies and all random draws go the
same path.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Protocol

import numpy as np
import pyarrow as pa

from memory.conversation import Question
from memory.forgetting.figures import figures
from memory.forgetting.limits import Limit, decide
from memory.forgetting.policies import policy
from memory.forgetting.ragged import Ints, Mask, Ragged
from memory.forgetting.states import Clock, States
from tasks.frontier_stores import open_store
from tasks.stage import Made, Stage, Work

GRAPH_ONLY = frozenset({"centrality", "without_centrality", "pagerank", "random_by_degree"})
"""Policies that look at edges, which flat turns have none of."""

_POINT: list[tuple[str, pa.DataType]] = [
    ("store", pa.string()),
    ("policy", pa.string()),
    ("level", pa.float64()),  # share of the items that is forgotten
    ("draw", pa.int32()),
]
_FIGURES = ("survival", "recall_1", "recall_5", "recall_10", "mrr")
ROWS = pa.schema([*_POINT, ("question", pa.string()), *((name, pa.float64()) for name in _FIGURES)])
"""A row for each point and question. `survival` is the share of the evidence turns that something still stands on."""
SIZES = pa.schema([*_POINT, *((name, pa.int64()) for name in ("items", "forgotten", "edges", "bytes"))])
"""A row for each point: what is left at it."""


class FrontierStore(Protocol):
    """A frozen store with the questions that are asked of it."""

    @property
    def states(self) -> States:
        """The items."""

    @property
    def clock(self) -> Clock:
        """When they are forgotten."""

    @property
    def questions(self) -> Sequence[Question]:
        """What is asked."""

    @property
    def evidence(self) -> Ragged:
        """Of each question, the numbers of its evidence turns."""

    def measure(self, live: Mask) -> tuple[Mask, Ints]:
        """Whether each evidence turn survives, and its rank in what is recalled (0: not recalled)."""


@dataclass(frozen=True, slots=True)
class _Point:
    level: float
    draw: int
    forgotten: Mask


def make(work: Work) -> Made:
    """Score the store once for each draw, and measure it at every level."""
    store = _opened(work)
    name, policy_name = work.params["store"], work.params["policy"]["name"]
    rows: list[pa.Table] = []
    sizes: list[dict[str, Any]] = []
    for point in _points(work, store):
        identity = {"store": name, "policy": policy_name, "level": point.level, "draw": point.draw}
        rows.append(_rows(identity, store, *store.measure(~point.forgotten)))
        sizes.append({**identity, **_size(store.states, ~point.forgotten)})
    tables = {
        "frontier_rows": pa.concat_tables(rows),
        "frontier_sizes": pa.Table.from_pylist(sizes, schema=SIZES),
    }
    return Made(tables, {"points": len(sizes)})


def _opened(work: Work) -> FrontierStore:
    """The store, frozen once for all policies that this process tries on it."""
    shared = {k: v for k, v in work.params.items() if k not in ("policy", "like", "levels", "draws")}
    return _open(work.model_copy(update={"batch": "", "params": shared}).model_dump_json())


@lru_cache(maxsize=1)
def _open(work_json: str) -> FrontierStore:
    return open_store(Work.model_validate_json(work_json))


def _points(work: Work, store: FrontierStore) -> list[_Point]:
    """The masks: everything kept, for the first draw alone, then every level of every draw.

    A stratified random policy forgets of each stratum as many as importance does at the same level.
    """
    params = work.params
    chosen = policy(params["policy"]["policy"], params["policy"]["settings"])
    like = policy(params["like"]["policy"], params["like"]["settings"]).score(store.states, store.clock)
    points = [_Point(0.0, 0, np.zeros(len(store.states), np.bool_))]
    for draw in range(params["draws"]):
        for level in params["levels"]:
            limit = Limit(fraction=level)
            matched = decide(like, store.states, limit) if chosen.random else None
            scored = chosen.score(store.states, store.clock, draw, matched)
            points.append(_Point(level, draw, decide(scored, store.states, limit)))
    return points


def _size(states: States, live: Mask) -> dict[str, int]:
    ends = states.edges
    return {
        "items": int(live.sum()),
        "forgotten": int((~live).sum()),
        "edges": int((live[ends[:, 0]] & live[ends[:, 1]]).sum()) if len(ends) else 0,
        "bytes": int(states.bytes[live].sum()),
    }


def _rows(identity: dict[str, Any], store: FrontierStore, survives: Mask, ranks: Ints) -> pa.Table:
    """A row for each question that has evidence."""
    found = figures(store.evidence, ranks, survives)
    asked = np.flatnonzero(store.evidence.lengths)
    columns = {
        **{name: pa.array([value] * len(asked), SIZES.field(name).type) for name, value in identity.items()},
        "question": pa.array([store.questions[i].id for i in asked.tolist()], pa.string()),
        "survival": pa.array(found.survival[asked]),
        **{f"recall_{k}": pa.array(share[asked]) for k, share in found.recall.items()},
        "mrr": pa.array(found.reciprocal_rank[asked]),
    }
    return pa.table(columns, schema=ROWS)


STAGE = Stage("frontier", 1, make)
