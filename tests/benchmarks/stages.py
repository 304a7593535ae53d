"""The stages of the core over graphs of a given size, each prepared and then given back as what is to be timed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count, islice

import numpy as np
import pyarrow.parquet as pq
from pyarrow import BufferReader

from memory.extraction import ExtractedEdge, ExtractedNode, Extraction
from memory.forgetting.limits import Limit, decide
from memory.forgetting.passes import states_of
from memory.forgetting.policies import policy
from memory.forgetting.states import Clock
from memory.graph import MemoryGraph, Moment
from memory.merge import merge_turn
from memory.models import Vectors
from memory.profiles import GRAPH_PROFILES, GraphSettings
from memory.retrieval import Root, expand, find_roots
from memory.serialise import serialise
from memory.tables import from_tables, to_tables
from memory.validation import QueryEntity
from results import tables
from tests.benchmarks import synthetic
from tests.benchmarks.workload import NOON, near, new_turn

DEDUP, FLOOR = 0.92, 0.75
LOOKUPS, TURNS, WALKS = 500, 20, 50
"""Operations of the stages that are over too soon for one to be timed."""
HUB_SHARE = 0.09
"""Share of the edges at one node, the user, in the paper's graph."""
IMPORTANCE, LIMIT = policy("importance"), Limit(threshold=0.10)
Work = Callable[[], object]


@dataclass(frozen=True)
class Size:
    """What can grow: of the graph, and the entities of a turn or question."""

    nodes: int = 16_000
    edges: int = 27_500
    dimensions: int = 384
    entities: int = 4


@dataclass(frozen=True)
class World:
    """A graph, and what the stages draw from."""

    size: Size
    graph: MemoryGraph
    random: np.random.Generator
    numbers: Iterator[int]

    @cached_property
    def saved(self) -> dict[str, bytes]:
        """The graph as the bytes of Parquet files."""
        return {name: tables.serialised(table) for name, table in to_tables(self.graph).items()}


def world(size: Size, profile: str) -> World:
    """A synthetic graph. Its first node is a hub, whose neighbours are all among the youngest tenth."""
    drawn = synthetic.states(size.nodes, size.dimensions)
    random = np.random.default_rng(1)
    ends = random.integers(1, size.nodes, (size.edges, 2))
    hub = random.random(size.edges) < HUB_SHARE
    ends[hub] = np.stack(
        [np.zeros(hub.sum(), int), random.integers(size.nodes * 9 // 10, size.nodes, hub.sum())], axis=1
    )
    settings = GraphSettings(**GRAPH_PROFILES[profile])
    return World(size, synthetic.graph(replace(drawn, edges=ends), settings), random, count())


def title_lookups(world: World) -> Work:
    """Titles looked up in the index."""
    nodes = [world.graph.node_at(row) for row in rows(world, LOOKUPS)]
    asked = [(node.label, node.title) for node in nodes]
    return lambda: [world.graph.titles.find(label, title) for label, title in asked]


def new_entities(world: World) -> Work:
    """A turn merged whose entities are all new, so that each is compared with all vectors."""
    number = next(world.numbers)
    vectors = list(synthetic.unit_rows(world.random, world.size.entities, world.size.dimensions))
    turn = Extraction(nodes=new_turn(number, world.size.entities).nodes)
    at = Moment(f"new#{number}", "s", NOON)
    return lambda: merge_turn(world.graph, at, turn, vectors, DEDUP)


def known_entities(world: World) -> Work:
    """Turns merged whose entities are known by title, with as many new edges."""
    turns = [(Moment(f"known#{n}", "s", NOON), known_turn(world, n)) for n in islice(world.numbers, TURNS)]
    nothing = [None] * world.size.entities
    return lambda: [merge_turn(world.graph, at, turn, nothing, DEDUP) for at, turn in turns]


def known_turn(world: World, number: int) -> Extraction:
    """What is extracted from a turn about stored nodes: new relations in a circle."""
    held = [world.graph.node_at(row) for row in rows(world, world.size.entities)]
    nodes = [ExtractedNode(key=str(i), label=n.label, title=n.title) for i, n in enumerate(held)]
    edges = [
        ExtractedEdge(source=str(i), target=str((i + 1) % len(nodes)), relationship=f"said {number} {i}")
        for i in range(len(nodes))
    ]
    return Extraction(nodes=tuple(nodes), edges=tuple(edges))


def roots(world: World) -> Work:
    """The roots of a question whose entities are stored nodes in other words."""
    some = rows(world, world.size.entities)
    entities = [QueryEntity("Concept", f"not stored {i}") for i in range(len(some))]
    queries = near(world.random, world.graph.vectors.matrix[some])
    return lambda: find_roots(world.graph, entities, queries, FLOOR)


def walks(world: World) -> Work:
    """Two-hop walks from five nodes each, none of which runs through the hub."""
    begun = starts(world)
    return lambda: [expand(world.graph, roots, queries) for roots, queries in begun]


def hub_walk(world: World) -> Work:
    """A two-hop walk from the hub."""
    hub = [Root(world.graph.node_at(0).id, 1.0)]
    queries = synthetic.unit_rows(world.random, 2, world.size.dimensions)
    return lambda: expand(world.graph, hub, queries)


def contexts(world: World) -> Work:
    """What is written of the subgraphs of such walks."""
    found = [expand(world.graph, roots, queries) for roots, queries in starts(world)]
    return lambda: [serialise(world.graph, each) for each in found]


def scores(world: World) -> Work:
    """Importance of every node, and which are forgotten."""
    now = np.datetime64(NOON.replace(tzinfo=None), "us")

    def score_and_decide() -> None:
        states, _ = states_of(world.graph, IMPORTANCE.reads)
        decide(IMPORTANCE.score(states, Clock(now, world.graph.turns)), states, LIMIT)

    return score_and_decide


def removal(world: World) -> Work:
    """One in a hundred nodes, the hub not among them, removed with their edges."""
    ids = [node.id for node in world.graph.nodes()][1:]
    gone = world.random.choice(ids, world.size.nodes // 100, replace=False).tolist()
    return lambda: world.graph.remove_nodes(gone)


def saving(world: World) -> Work:
    """The graph as the bytes of Parquet files."""
    return lambda: [tables.serialised(table) for table in to_tables(world.graph).values()]


def loading(world: World) -> Work:
    """The graph from the bytes of Parquet files, checked."""
    held = world.saved
    return lambda: from_tables(
        {name: pq.read_table(BufferReader(data)) for name, data in held.items()}, world.graph.settings
    )


def rows(world: World, count: int) -> list[int]:
    """Rows of different nodes, neither the hub nor its neighbours among them."""
    live = np.flatnonzero(world.graph.live[1 : world.size.nodes * 9 // 10]) + 1
    chosen: list[int] = world.random.choice(live, count, replace=False).tolist()
    return chosen


def starts(world: World) -> list[tuple[list[Root], Vectors]]:
    """Five roots and the vectors of two entities for each walk."""
    queries = synthetic.unit_rows(world.random, 2 * WALKS, world.size.dimensions).reshape(WALKS, 2, -1)
    ids = [world.graph.node_at(row).id for row in rows(world, 5 * WALKS)]
    return [([Root(id, 0.8) for id in ids[5 * i : 5 * i + 5]], queries[i]) for i in range(WALKS)]
