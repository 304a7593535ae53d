"""Personalized PageRank against networkx.pagerank on random multigraphs, and by hand."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from memory.diffusion import Diffusion

ONE_NODE = (1, [], [1.0])
SELF_LOOP = (1, [(0, 0, 0.8)], [2.0])
ISOLATED_SEED = (3, [(0, 1, 0.8)], [0.0, 0.0, 1.0])
PARALLEL = (3, [(0, 1, 0.8), (1, 0, 0.8), (0, 1, 0.5), (1, 2, 0.5)], [1.0, 0.0, 0.0])


@st.composite
def graphs(draw):
    """Size, edges `(end, end, weight)` and a weight of each item as a seed: many are no seed."""
    size = draw(st.integers(1, 10))
    item = st.integers(0, size - 1)
    edges = draw(st.lists(st.tuples(item, item, st.sampled_from([0.5, 0.8, 3.0])), max_size=25))
    weight = st.one_of(st.just(0.0), st.floats(0.01, 1.0))
    seeds = draw(st.lists(weight, min_size=size, max_size=size).filter(any))
    return size, edges, seeds


def diffusion(size, edges, hub_limit=None):
    ends = np.array([edge[:2] for edge in edges], np.intp).reshape(-1, 2)
    return Diffusion.of_edges(size, ends, np.array([edge[2] for edge in edges], np.float64), hub_limit)


def as_networkx(size, edges):
    graph = nx.MultiGraph()
    graph.add_nodes_from(range(size))
    graph.add_weighted_edges_from(edges)
    return graph


def networkx_rank(graph, seeds, damping):
    wanted = {node: seeds[node] for node in graph}
    ranks = nx.pagerank(graph, alpha=damping, personalization=wanted, tol=1e-14, max_iter=5_000)
    return np.array([ranks[node] for node in graph])


@given(graphs(), st.sampled_from([0.5, 0.6, 0.85]))
@example(ONE_NODE, 0.6)
@example(SELF_LOOP, 0.6)
@example(ISOLATED_SEED, 0.6)
@example(PARALLEL, 0.6)
def test_the_ranks_are_those_of_networkx(graph, damping):
    size, edges, seeds = graph
    found = diffusion(size, edges).rank(np.array(seeds), damping=damping, tolerance=1e-13)
    np.testing.assert_allclose(
        found, networkx_rank(as_networkx(size, edges), seeds, damping), rtol=0, atol=1e-10
    )


@given(graphs(), st.data())
def test_what_can_be_reached_in_some_hops_is_what_networkx_reaches(graph, data):
    size, edges, _ = graph
    start = data.draw(st.lists(st.integers(0, size - 1), max_size=3, unique=True))
    hops = data.draw(st.integers(0, 3))
    found = diffusion(size, edges).within(np.array(start, np.intp), hops)
    walked = as_networkx(size, edges)
    expected = {
        node for one in start for node in nx.single_source_shortest_path_length(walked, one, cutoff=hops)
    }
    assert found.tolist() == sorted(expected)


@given(graphs(), st.data())
def test_the_diffusion_among_some_rows_is_that_of_the_subgraph(graph, data):
    size, edges, seeds = graph
    rows = sorted(data.draw(st.sets(st.integers(0, size - 1), min_size=1)))
    part = [seeds[row] for row in rows]
    if not any(part):
        part[0] = 1.0
    found = (
        diffusion(size, edges)
        .among(np.array(rows, np.intp))
        .rank(np.array(part), damping=0.6, tolerance=1e-13)
    )
    subgraph = nx.relabel_nodes(
        as_networkx(size, edges).subgraph(rows), {row: place for place, row in enumerate(rows)}
    )
    ordered = nx.MultiGraph()
    ordered.add_nodes_from(range(len(rows)))
    ordered.add_edges_from(subgraph.edges(data=True))
    np.testing.assert_allclose(found, networkx_rank(ordered, part, 0.6), rtol=0, atol=1e-10)


@given(graphs(), st.integers(1, 4))
def test_a_limit_on_hubs_loses_nothing_the_ranks_sum_to_one(graph, limit):
    size, edges, seeds = graph
    found = diffusion(size, edges, limit).rank(np.array(seeds), damping=0.6)
    assert found.sum() == pytest.approx(1.0, abs=1e-12)
    assert (found >= 0).all()


def test_a_seed_passes_on_its_share_and_gets_its_share_back():
    # a = 0.4 + 0.6 b and b = 0.6 a
    found = diffusion(2, [(0, 1, 0.8)]).rank(np.array([1.0, 0.0]), damping=0.6)
    assert found == pytest.approx([0.625, 0.375])


def test_what_an_item_without_edges_has_returns_to_the_seeds():
    # a and b are joined, c is alone; a and c are seeds: a = r/2 + 0.6 b, b = 0.6 a, c = r/2, r = 0.4 + 0.6 c
    found = diffusion(3, [(0, 1, 0.8)]).rank(np.array([1.0, 0.0, 1.0]), damping=0.6)
    c = 0.2 / 0.7
    a = c / (1 - 0.36)
    assert found == pytest.approx([a, 0.6 * a, c])


def test_what_a_hub_holds_back_returns_to_the_seeds():
    star = [(0, leaf, 0.8) for leaf in (1, 2, 3)]
    middle = np.array([1.0, 0.0, 0.0, 0.0])
    # The leaves have 0.6 of the middle's rank together; limited to one of three neighbours a third of that.
    assert diffusion(4, star).rank(middle, damping=0.6)[0] == pytest.approx(1 / 1.6)
    assert diffusion(4, star, 1).rank(middle, damping=0.6)[0] == pytest.approx(1 / 1.2)
    # From a leaf: it has 1 - m - 2 n of all, where m = 0.6 (1 - m) is the middle and n = 0.2 m / 3 a leaf beside it.
    found = diffusion(4, star, 1).rank(np.array([0.0, 1.0, 0.0, 0.0]), damping=0.6)
    assert found == pytest.approx([0.375, 0.575, 0.025, 0.025])


def test_a_limit_leaves_alone_what_has_no_more_neighbours_and_parallel_edges_are_one_neighbour():
    star = [(0, 1, 0.8), (0, 2, 0.8), (0, 2, 0.8)]
    seeds = np.array([1.0, 0.0, 0.0])
    assert (
        diffusion(3, star, 2).rank(seeds, damping=0.6).tolist()
        == diffusion(3, star).rank(seeds, damping=0.6).tolist()
    )


def test_it_ends_after_the_iterations_or_at_the_tolerance():
    pair, seeds = diffusion(2, [(0, 1, 0.8)]), np.array([1.0, 0.0])
    assert pair.rank(seeds, damping=0.6, iterations=1) == pytest.approx([0.4, 0.6])
    assert pair.rank(seeds, damping=0.6, iterations=2) == pytest.approx([0.76, 0.24])
    # The first step moves 1.2, the second 0.72, the third 0.432.
    assert pair.rank(seeds, damping=0.6, tolerance=1.3) == pytest.approx([0.4, 0.6])
    assert pair.rank(seeds, damping=0.6, tolerance=0.8) == pytest.approx([0.76, 0.24])


def test_an_empty_graph_gives_an_empty_rank():
    empty = diffusion(0, [])
    assert empty.rank(np.zeros(0), damping=0.6).shape == (0,)
    assert empty.within(np.zeros(0, np.intp), 2).shape == (0,)


@pytest.mark.parametrize("seeds", [[0.0, 0.0], [1.0, -0.1], [np.nan, 1.0], [np.inf, 1.0]])
def test_seeds_that_are_zero_negative_or_no_numbers_are_refused(seeds):
    with pytest.raises(ValueError, match="seed"):
        diffusion(2, [(0, 1, 0.8)]).rank(np.array(seeds), damping=0.6)


@pytest.mark.parametrize("weight", [-0.1, np.nan, np.inf])
def test_weights_that_are_negative_or_no_numbers_are_refused(weight):
    with pytest.raises(ValueError, match="weight"):
        diffusion(2, [(0, 1, weight)])


def test_an_edge_without_weight_passes_nothing_on():
    found = diffusion(3, [(0, 1, 0.0), (1, 2, 0.8)]).rank(np.array([1.0, 0.0, 0.0]), damping=0.6)
    assert found.tolist() == [1.0, 0.0, 0.0]


def test_neighbours_are_counted_once_each():
    assert diffusion(3, [(0, 1, 0.8), (1, 0, 0.5), (1, 2, 0.8)]).neighbours().tolist() == [1, 2, 1]
