"""A forgetting pass at 27,021 (the paper's graph), 100,000 and a million nodes: scoring and deciding, then the rest.

The reference is the published algorithm node by node, in O(nodes + edges): adjacency is kept, dates are parsed already.
Its scores have to be ours to 1e-12.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow.parquet as pq

from memory.extraction import LABELS, ExtractedNode
from memory.forgetting.limits import Limit, decide
from memory.forgetting.passes import forget, report, states_of
from memory.forgetting.policies import POLICIES, policy
from memory.forgetting.states import Clock, States
from memory.graph import MemoryGraph, Moment
from memory.profiles import GRAPH_PROFILES, GraphSettings
from tests.benchmarks.timing import seconds, show

SIZES = (27_021, 100_000, 1_000_000)
DIMENSIONS = 768
START = datetime(2022, 1, 1, tzinfo=UTC)
DAYS = 700
TURNS_A_NODE = 0.42  # 27,021 nodes came from some 11,300 turns
EDGES_A_NODE = 1.72
IMPORTANCE, LIMIT = policy("importance"), Limit(threshold=0.10)


@dataclass
class Item:
    """A node as the published code holds it, with its dates parsed."""

    created_at: datetime
    last_accessed_at: datetime | None
    access_count: int
    turns_at_creation: int
    turns_at_last_access: int | None


def main() -> None:
    for size in SIZES:
        arrays(size)
    whole_passes(SIZES[0])


def arrays(size: int) -> None:
    """Scoring and deciding over columns against the reference."""
    states, clock = synthetic(size)
    nodes, adjacency, now = as_objects(states, clock)
    by_node = published(nodes, adjacency, now, clock.turns)
    ours = IMPORTANCE.score(states, clock)
    assert np.abs(ours.score - by_node).max() <= 1e-12
    forgotten = decide(ours, states, LIMIT)
    assert forgotten.tolist() == [score < 0.10 for score in by_node]
    print(f"\n{size:,} nodes, {len(states.edges):,} edges, {forgotten.mean():.1%} forgotten")
    runs = 5 if size < 1_000_000 else 1
    took = seconds(
        lambda: decide(IMPORTANCE.score(states, clock), states, LIMIT), 50 if size < 1_000_000 else 5
    )
    theirs = seconds(lambda: [s < 0.10 for s in published(nodes, adjacency, now, clock.turns)], runs)
    show("scoring and deciding, importance", took, "node by node", theirs)
    for name in POLICIES:
        chosen, share = policy(name), Limit(fraction=0.1)
        if "vectors" not in chosen.reads and name != "importance":
            spent = seconds(lambda c=chosen, s=share: decide(c.score(states, clock), states, s), 3)  # type: ignore[misc]
            print(f"  {name} to a tenth: {spent * 1e3:,.1f} ms")


def whole_passes(size: int) -> None:
    """What surrounds a decision: gathering the columns, the table, the removal."""
    states, clock = synthetic(size)
    print(f"\nA whole pass over a graph of {size:,} nodes x {DIMENSIONS}")
    graph = as_graph(states)
    gather(graph, "columns alone", ())
    gather(graph, "columns and edges", ("edges",))
    gather(graph, "columns and bytes", ("bytes",))
    held, ids = states_of(graph, ("vectors",))
    scored = IMPORTANCE.score(held, clock)
    forgotten = decide(scored, held, LIMIT)
    took = seconds(lambda: decide(IMPORTANCE.score(states_of(graph, ())[0], clock), held, LIMIT))
    nodes, adjacency, now = as_objects(states, clock)
    theirs = seconds(lambda: [s < 0.10 for s in published(nodes, adjacency, now, clock.turns)])
    show("gathering, scoring and deciding", took, "node by node", theirs)
    for name in ("memory_stream", "fademem"):
        spent = seconds(lambda n=name: policy(n).score(held, clock))  # type: ignore[misc]
        print(f"  {name}: {spent * 1e3:,.1f} ms")
    labels, titles = zip(*((node.label, node.title) for node in graph.nodes()), strict=True)
    table = report("importance", held, scored, forgotten, clock, ids, labels, titles)
    made = seconds(lambda: report("importance", held, scored, forgotten, clock, ids, labels, titles))
    with TemporaryDirectory() as folder:
        path = Path(folder) / "forgetting.parquet"
        written = seconds(lambda: pq.write_table(table, path))
    print(f"the table: {made * 1e3:,.1f} ms to make, {written * 1e3:,.1f} ms to write")
    gone = [id for id, fate in zip(ids, forgotten, strict=True) if fate]
    removal = once(lambda: graph.remove_nodes(gone))
    print(f"removing {len(gone):,} nodes: {removal * 1e3:,.1f} ms")
    again = as_graph(states)
    both = once(lambda: forget(again, IMPORTANCE, LIMIT, clock))
    print(f"forget() as a whole: {both * 1e3:,.1f} ms")
    again = as_graph(states)
    print(
        f"forget() with an archive: {once(lambda: forget(again, IMPORTANCE, LIMIT, clock, archive=True)) * 1e3:,.1f} ms"
    )


def gather(graph: MemoryGraph, what: str, reads: tuple[str, ...]) -> None:
    print(f"gathering {what}: {seconds(lambda: states_of(graph, reads)) * 1e3:,.1f} ms")


def once(work: Callable[[], object]) -> float:
    """Seconds of work that can be done once only."""
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun


def synthetic(size: int) -> tuple[States, Clock]:
    """A store shaped like the paper's: a hub with 9 % of the edges, most nodes of low degree and never seen again."""
    random = np.random.default_rng(0)
    turns = int(TURNS_A_NODE * size)
    born = np.sort(random.integers(0, turns, size))
    edges = np.stack([random.integers(0, size, int(EDGES_A_NODE * size)) for _ in range(2)], axis=1)
    edges[random.random(len(edges)) < 0.09, 0] = 0
    count = np.where(random.random(size) < 0.2, random.geometric(0.5, size), 0)
    count[0] = turns // 2
    seen = np.minimum(born + random.integers(0, turns // 4, size), turns)
    first = np.datetime64(START.replace(tzinfo=None), "us")
    # Sessions are merged in the order of the file, not of time: dates and turns are independent.
    days = random.uniform(0, DAYS, (2, size))
    created, accessed = (
        first + (each * 86_400_000_000).astype("timedelta64[us]") for each in np.sort(days, axis=0)
    )
    states = States(
        created_at=created,
        last_accessed_at=np.where(count > 0, accessed, np.datetime64("NaT", "us")),
        access_count=count,
        turns_at_creation=born,
        turns_at_last_access=np.where(count > 0, seen, -1),
        degree=np.bincount(edges.ravel(), minlength=size),
        label=random.integers(0, len(LABELS), size),
        bytes=random.integers(3_500, 6_000, size),
        edges=edges,
        vectors=np.zeros((0, DIMENSIONS), np.float32),
    )
    return states, Clock(first + np.timedelta64(DAYS, "D"), turns)


def as_objects(states: States, clock: Clock) -> tuple[list[Item], list[list[int]], datetime]:
    """The same store as the reference holds it: objects, and for each node the numbers of its edges."""

    def times(column: np.ndarray) -> list[datetime | None]:  # type: ignore[type-arg]
        return [each.replace(tzinfo=UTC) if each else None for each in column.astype(object)]

    items = [
        Item(created, accessed, count, born, None if seen < 0 else seen)  # type: ignore[arg-type]
        for created, accessed, count, born, seen in zip(
            times(states.created_at),
            times(states.last_accessed_at),
            states.access_count.tolist(),
            states.turns_at_creation.tolist(),
            states.turns_at_last_access.tolist(),
            strict=True,
        )
    ]
    adjacency: list[list[int]] = [[] for _ in items]
    for number, (source, target) in enumerate(states.edges.tolist()):
        adjacency[source].append(number)
        adjacency[target].append(number)
    return items, adjacency, START + timedelta(days=DAYS)


def published(nodes: list[Item], adjacency: list[list[int]], now: datetime, turns: int) -> list[float]:
    """Facts, section 13, one node after the other."""
    most = max(node.access_count for node in nodes)
    scores = []
    for node, edges in zip(nodes, adjacency, strict=True):
        seen = node.last_accessed_at or node.created_at
        days = max(0.0, (now - seen).total_seconds() / 86_400)
        recency = 2 ** (-days / 90)
        frequency = math.log(1 + node.access_count) / math.log(2 + most)
        centrality = min(1.0, math.log(1 + len(edges)) / math.log(11))
        since = node.turns_at_creation if node.turns_at_last_access is None else node.turns_at_last_access
        age = 2 ** (-max(0, turns - since) / 1000)
        scores.append(round(0.35 * recency + 0.25 * frequency + 0.20 * centrality + 0.20 * age, 6))
    return scores


def as_graph(states: States) -> MemoryGraph:
    """The same store as a graph, with random vectors."""
    graph = MemoryGraph(DIMENSIONS, GraphSettings(**{**GRAPH_PROFILES["published"], "clean_titles": True}))
    random = np.random.default_rng(1)
    at = Moment("h#0.0", "s", START)
    graph.moments[at.turn] = at
    ids = [f"{number:024x}" for number in range(len(states))]
    for number, id in enumerate(ids):
        node = ExtractedNode(
            key=id, label=LABELS[states.label[number]], title=f"thing {number}", content="a thing"
        )
        graph.add_node(id, at, node, random.normal(size=DIMENSIONS))
    for number, (source, target) in enumerate(states.edges.tolist()):
        graph.add_edge(ids[source], f"relates to {number}", ids[target], at)
    for name in (
        "created_at",
        "last_accessed_at",
        "access_count",
        "turns_at_creation",
        "turns_at_last_access",
    ):
        graph.columns[name] = getattr(states, name)
    return graph


if __name__ == "__main__":
    main()
