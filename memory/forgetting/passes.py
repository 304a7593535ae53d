"""One forgetting pass: the memory's state as columns, a decision, the removal, and a row for each item."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Protocol

import numpy as np
import pyarrow as pa

from memory.attributes import Attributes
from memory.forgetting.archive import archived
from memory.forgetting.limits import Limit, decide
from memory.forgetting.policies import RetentionPolicy
from memory.forgetting.states import Clock, Counts, Mask, Scored, States
from memory.graph import MemoryGraph, stamp
from memory.models import Vectors
from memory.systems.turns import StoredTurn, text_bytes

VERSION = 1
TERMS = ("recency", "frequency", "centrality", "turns", "relevance", "importance", "strength")
"""All terms that the policies' scores are made of; each is null where a policy has none of that name."""
_COLUMNS: dict[str, pa.DataType] = {
    "pass": pa.int64(),
    "policy": pa.string(),
    "draw": pa.int64(),
    "time": pa.timestamp("us", tz="UTC"),
    "turn_counter": pa.int64(),
    "id": pa.string(),
    "label": pa.string(),
    "title": pa.string(),
    "degree": pa.int64(),
    **{term: pa.float64() for term in TERMS},
    "score": pa.float64(),
    "fate": pa.string(),
}
FORGETTING = pa.schema(_COLUMNS, metadata={"palimpsest.forgetting.version": str(VERSION)})
"""A row for each item that a pass looked at, oldest first. `pass`, `time` and `turn_counter` say when, `fate` is `kept`
or `forgotten`. A turn's label is its role, and it has no title."""
COSTLY = frozenset({"bytes", "edges", "vectors"})
"""Columns of `States` that must be gathered from the whole memory; the others stand ready."""


class KeepsTurns(Protocol):
    """A memory of whole turns, such as flat retrieval."""

    turns: list[StoredTurn]

    def embedded(self) -> tuple[Sequence[int], Vectors]:
        """The turns that have a vector, by position, and their vectors `(rows, dimensions)`."""

    def keep(self, kept: Mask) -> None:
        """Drop all turns but those of a mask `(turns,)`, with all that stands on them."""


@dataclass(frozen=True, slots=True)
class Pass:
    """What a pass did.

    Attributes:
        items: How many nodes or turns it forgot.
        edges: How many edges went with them.
        table: `FORGETTING`.
        archive: What was forgotten, for `archive.restore`; none if nobody asked for it.
    """

    items: int
    edges: int
    table: pa.Table
    archive: dict[str, pa.Table] | None = None


def states_of(graph: MemoryGraph, reads: Collection[str] = COSTLY) -> tuple[States, list[str]]:
    """The nodes of a graph as columns, oldest first, and their ids.

    Args:
        graph: Is only read.
        reads: Which of the `COSTLY` columns are filled; those left out are zero bytes, no edges, empty vectors.
    """
    columns = graph.columns[graph.live]
    ids = list(
        graph.topology
    )  # insertion order is row order: rows are given out in order, and never move past others
    edges, nbytes = np.zeros((0, 2), np.int64), np.zeros(len(ids), np.int64)
    if "edges" in reads:
        place = dict(zip(ids, range(len(ids)), strict=True))
        ends = [(place[edge.source], place[edge.target]) for edge in graph.edges()]
        edges = np.array(ends, np.int64).reshape(-1, 2)
    if "bytes" in reads:
        nbytes = _bytes_of_nodes(graph)
    own = {name: columns[name] for name in columns.dtype.names or ()}
    vectors = graph.vectors.matrix[graph.live] if "vectors" in reads else graph.vectors.matrix[:0]
    return States(**own, bytes=nbytes, edges=edges, vectors=vectors), ids


def states_of_turns(memory: KeepsTurns, numbers: Mapping[str, int] | None = None) -> tuple[States, list[str]]:
    """The turns of a memory as columns, oldest first, and their ids.

    A turn is never accessed again and has no edges. One without a vector has a zero vector.

    Args:
        memory: Is only read.
        numbers: The turn counter when each turn was stored, by id. Needed once something was forgotten: until then
            it is the turn's place.
    """
    ids = [held.turn.id for held in memory.turns]
    n = len(ids)
    roles: dict[str, int] = {}
    positions, rows = memory.embedded()
    embedded = np.asarray(positions, np.int64)
    vectors = np.zeros((n, rows.shape[1]), np.float32)
    vectors[embedded] = rows
    nbytes = np.array([text_bytes([held]) for held in memory.turns], np.int64)
    nbytes[embedded] += vectors.itemsize * rows.shape[1]
    states = States(
        created_at=np.array([stamp(held.time) for held in memory.turns], "datetime64[us]"),
        last_accessed_at=np.full(n, stamp(None)),
        access_count=np.zeros(n, np.int64),
        turns_at_creation=np.array([numbers[id] for id in ids] if numbers else range(n), np.int64),
        turns_at_last_access=np.full(n, -1),
        degree=np.zeros(n, np.int64),
        label=np.array([roles.setdefault(held.turn.role, len(roles)) for held in memory.turns], np.int64),
        bytes=nbytes,
        edges=np.zeros((0, 2), np.int64),
        vectors=vectors,
    )
    return states, ids


def forget(
    graph: MemoryGraph,
    policy: RetentionPolicy,
    limit: Limit,
    clock: Clock,
    draw: int = 0,
    archive: bool = False,
    *,
    number: int = 0,
    like: Mask | None = None,
) -> Pass:
    """Forget nodes of a graph: with them go their edges, vectors, titles (by `clean_titles`) and provenance.

    Args:
        graph: Is changed.
        policy: Scores the nodes once, before any is removed (facts, section 14).
        limit: Says how many go.
        clock: When this happens.
        draw: Which order a random policy takes.
        archive: Whether what is forgotten is kept apart.
        number: Which pass this is, for the table.
        like: What a random policy has to match (`RetentionPolicy.score`).
    """
    reads = policy.reads | ({"bytes"} if limit.bytes is not None else set())
    states, ids = states_of(graph, reads)
    scored = policy.score(states, clock, draw, like)
    forgotten = decide(scored, states, limit)
    nodes = list(graph.nodes())
    labels, titles = [node.label for node in nodes], [node.title for node in nodes]
    table = report(
        policy.name, states, scored, forgotten, clock, ids, labels, titles, draw=draw, number=number
    )
    gone = list(compress(ids, forgotten))
    kept_apart = archived(graph, gone) if archive else None
    return Pass(len(gone), graph.remove_nodes(gone), table, kept_apart)


def forget_turns(
    memory: KeepsTurns,
    policy: RetentionPolicy,
    limit: Limit,
    clock: Clock,
    draw: int = 0,
    *,
    numbers: Mapping[str, int] | None = None,
    number: int = 0,
    like: Mask | None = None,
) -> Pass:
    """Forget turns of a memory with their vectors; arguments as of `forget` and `states_of_turns`."""
    states, ids = states_of_turns(memory, numbers)
    scored = policy.score(states, clock, draw, like)
    forgotten = decide(scored, states, limit)
    roles = [held.turn.role for held in memory.turns]
    table = report(policy.name, states, scored, forgotten, clock, ids, roles, draw=draw, number=number)
    memory.keep(~forgotten)
    return Pass(int(forgotten.sum()), 0, table)


def report(
    policy: str,
    states: States,
    scored: Scored,
    forgotten: Mask,
    clock: Clock,
    ids: Sequence[str],
    labels: Sequence[str],
    titles: Sequence[str] | None = None,
    *,
    draw: int = 0,
    number: int = 0,
) -> pa.Table:
    """What a pass found and decided, as the table `FORGETTING`."""
    n = len(states)
    now = None if np.isnat(clock.now) else clock.now.astype("datetime64[us]")
    values = {
        "pass": pa.repeat(number, n),
        "policy": pa.repeat(policy, n),
        "draw": pa.repeat(draw, n),
        "time": pa.array(np.full(n, now)) if now is not None else pa.nulls(n),
        "turn_counter": pa.repeat(clock.turns, n),
        "id": pa.array(ids, pa.string()),
        "label": pa.array(labels, pa.string()),
        "title": pa.nulls(n) if titles is None else pa.array(titles, pa.string()),
        "degree": pa.array(states.degree),
        **{term: pa.array(scored.terms[term]) if term in scored.terms else pa.nulls(n) for term in TERMS},
        "score": pa.array(scored.score),
        "fate": pa.array(np.where(forgotten, "forgotten", "kept"), pa.string()),
    }
    columns = [values[field.name].cast(field.type) for field in FORGETTING]
    return pa.Table.from_arrays(columns, schema=FORGETTING)


def _bytes_of_nodes(graph: MemoryGraph) -> Counts:
    """UTF-8 bytes of each node's texts, of its vector, and of half of each edge at each of its ends."""
    cost = {
        node.id: _text_bytes(node.id, node.label, node.title, node.content or "", node.session, *node.sources)
        + _attribute_bytes(node.attributes)
        for node in graph.nodes()
    }
    halves = dict.fromkeys(cost, 0)
    for edge in graph.edges():
        texts = _text_bytes(edge.source, edge.relationship, edge.target, edge.session, *edge.sources)
        whole = texts + _attribute_bytes(edge.attributes)
        halves[edge.source] += whole - whole // 2
        halves[edge.target] += whole // 2
    vector = np.dtype(np.float32).itemsize * graph.dimensions
    return np.array([cost[id] + halves[id] + vector for id in cost], np.int64)


def _attribute_bytes(attributes: Attributes) -> int:
    return sum(
        _text_bytes(name, str(version.value), version.turn)
        for name, held in attributes.items()
        for version in held
    )


def _text_bytes(*texts: str) -> int:
    return len("".join(texts).encode())
