"""Personalized PageRank on the kept matrix against networkx.pagerank, on a graph of 27,000 nodes and 110,000 edges.

Both stop at the same bound on the error and are checked to be equal before they are timed. The second pair walks what
two hops reach from forty seeds, as a recall of GAAMA does, cutting the subgraph out included.
"""

from __future__ import annotations

import networkx as nx
import numpy as np

from memory.diffusion import Diffusion
from memory.gaama.settings import GaamaSettings
from tests.benchmarks.timing import seconds, show

NODES, EDGES, WEIGHTS = 27_000, 110_000, (0.5, 0.8)
SETTINGS = GaamaSettings()
STEP = 1e-10


def random_graph(random: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Edges whose ends have a long tail of degrees, as concepts have, and their weights."""
    popular = (NODES * random.random(EDGES) ** 2).astype(np.intp)
    ends = np.column_stack([random.integers(0, NODES, EDGES), popular])
    return ends, random.choice(WEIGHTS, EDGES)


def networkx_graph(ends: np.ndarray, weights: np.ndarray) -> nx.MultiGraph[int]:
    graph: nx.MultiGraph[int] = nx.MultiGraph()
    graph.add_nodes_from(range(NODES))
    graph.add_weighted_edges_from(zip(*ends.T.tolist(), weights.tolist(), strict=True))
    return graph


def networkx_rank(graph: nx.MultiGraph[int], seeds: np.ndarray) -> dict[int, float]:
    wanted = {int(seed): 1.0 for seed in seeds}
    # networkx stops at a summed change of its tolerance times the number of nodes.
    return nx.pagerank(graph, SETTINGS.damping, wanted, tol=STEP / len(graph), max_iter=1_000)


def bounded(diffusion: Diffusion, seeds: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The rows that the hops of a recall reach, and their ranks."""
    rows = diffusion.within(seeds, SETTINGS.hops)
    start = np.isin(rows, seeds).astype(np.float64)
    return rows, diffusion.among(rows).rank(start, damping=SETTINGS.damping, tolerance=STEP)


def networkx_bounded(graph: nx.MultiGraph[int], seeds: np.ndarray) -> dict[int, float]:
    reached = set(seeds.tolist())
    for _ in range(SETTINGS.hops):
        reached |= {near for node in reached for near in graph.adj[node]}
    return networkx_rank(graph.subgraph(reached), seeds)


def check(ours: np.ndarray, theirs: dict[int, float], rows: np.ndarray) -> None:
    """Refuse to time what is not equal."""
    difference = float(np.abs(ours - [theirs[int(row)] for row in rows]).max())
    if len(theirs) != len(rows) or difference > 1e-10:
        raise SystemExit(f"the ranks differ by {difference:.1e}: there is nothing to compare")
    print(f"{len(rows):,} nodes; the ranks differ by at most {difference:.0e}")


def main() -> None:
    random = np.random.default_rng(0)
    ends, weights = random_graph(random)
    seeds = np.sort(random.choice(NODES, SETTINGS.seeds, replace=False))
    start = np.zeros(NODES)
    start[seeds] = 1.0
    graph = networkx_graph(ends, weights)
    diffusion = Diffusion.of_edges(NODES, ends, weights)

    ranks = diffusion.rank(start, damping=SETTINGS.damping, tolerance=STEP)
    check(ranks, networkx_rank(graph, seeds), np.arange(NODES))
    ours = seconds(lambda: diffusion.rank(start, damping=SETTINGS.damping, tolerance=STEP))
    show("whole graph", ours, "networkx.pagerank", seconds(lambda: networkx_rank(graph, seeds), 3))

    rows, near = bounded(diffusion, seeds)
    check(near, networkx_bounded(graph, seeds), rows)
    ours = seconds(lambda: bounded(diffusion, seeds))
    show("two hops", ours, "networkx", seconds(lambda: networkx_bounded(graph, seeds), 3))

    gathering = seconds(lambda: Diffusion.of_edges(NODES, ends, weights))
    print(f"gathering the matrix, once for all questions: {gathering * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
