"""The stages that are timed do what they say, and leave a graph that is whole."""

from __future__ import annotations

import pytest

from memory.retrieval import expand
from tests.benchmarks import stages
from tests.benchmarks.bench_exponents import STAGES
from tests.benchmarks.stages import Size, World

SMALL = Size(nodes=700, edges=1_200, dimensions=64, entities=3)


@pytest.fixture
def world() -> World:
    return stages.world(SMALL, "improved")


@pytest.mark.parametrize("profile", ["improved", "published"])
def test_every_stage_can_be_timed_one_after_the_other_and_leaves_a_whole_graph(profile):
    world = stages.world(SMALL, profile)
    for stage in STAGES:
        for _ in range(2):
            stage.ready(world)()
        world.graph.check()


def test_a_graph_has_the_nodes_and_edges_of_its_size_and_a_hub_with_its_share_of_them(world):
    graph = world.graph
    assert (len(graph), len(graph.edges())) == (700, 1_200)
    assert graph.columns["degree"][0] == pytest.approx(0.09 * 1_200, rel=0.3)
    assert graph.columns["degree"][1:].max() < 20


def test_new_entities_become_nodes_and_known_ones_only_edges(world):
    stages.new_entities(world)()
    assert len(world.graph) == 703
    stages.known_entities(world)()
    assert len(world.graph) == 703
    assert len(world.graph.edges()) == 1_200 + 3 * stages.TURNS


def test_walks_run_from_the_hub_only_where_the_stage_says_so(world):
    for roots, queries in stages.starts(world):
        shown = expand(world.graph, roots, queries).edges
        assert len(shown) < world.graph.columns["degree"][0] / 2
    found = stages.hub_walk(world)()
    assert found.nodes[0].id == world.graph.node_at(0).id
    assert len(found.nodes) == world.graph.settings.max_nodes


def test_a_question_finds_a_root_for_each_of_its_entities(world):
    assert len(stages.roots(world)()) == SMALL.entities
