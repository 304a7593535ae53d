"""A memory graph with an approximate index decides as the exact one where all that counts is within its reach."""

import sys

import pytest

from memory.ann import BREADTH
from memory.conversation import Query
from memory.errors import BadInput
from memory.merge import descriptor
from memory.retrieval import find_roots
from memory.systems.graph import GraphMemory
from memory.tables import from_tables, same, to_tables
from memory.validation import QueryEntity
from tests.memory.fake_models import (
    FakeHashEmbedder,
    asks_about,
    extraction,
    feed,
    models,
    new_graph,
    session,
    settings,
)

NODES = 90  # fewer than `BREADTH`, so that every node is looked at
# Every third thing is described as the one before it, in other words.
TWINS = {f"Artifact: thing {i}": f"Artifact: thing {i - 1}" for i in range(2, NODES, 3)}
EMBEDDER = FakeHashEmbedder(TWINS)
PROFILES = ["published", "improved"]


@pytest.fixture(autouse=True)
def _extra(request):
    if "without" not in request.node.name:
        pytest.importorskip("usearch", reason="an approximate index needs the extra ann")


def stream(profile, index, first=0, last=NODES, **changes):
    graph = new_graph(profile, index=index, **changes)
    for i in range(first, last):
        feed(graph, f"t{i}", extraction([("Artifact", f"thing {i}")]), embedder=EMBEDDER)
    return graph


def roots(graph, title, floor=0.3):
    query = EMBEDDER.vector(descriptor("Artifact", title, None))[None]
    return find_roots(graph, [QueryEntity("Artifact", "unknown")], query, floor)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_graph_within_reach_is_merged_and_recalled_as_the_exact_one(profile):
    assert NODES < BREADTH
    exact, approximate = stream(profile, "exact"), stream(profile, "approximate")
    assert len(exact) == NODES - len(TWINS)
    assert same(exact, approximate)
    for i in range(NODES):
        for floor in (0.3, 0.999):
            assert roots(approximate, f"thing {i}", floor) == roots(exact, f"thing {i}", floor)
        assert roots(approximate, f"nowhere {i}", 1.0) == roots(exact, f"nowhere {i}", 1.0)


def test_a_memory_of_sessions_within_reach_recalls_as_the_exact_one():
    said = session(*(f"text {i}" for i in range(30)))
    found = {
        turn.id: extraction([("Concept", f"idea {i}"), ("Person", f"Ann {i}")])
        for i, turn in enumerate(said.turns)
    }
    recalled = []
    for index in ("exact", "approximate"):
        asked = models(asks_about(("Concept", "a new idea"), ("Person", "Ann 3")))
        memory = GraphMemory(settings("improved", index=index, retrieval_floor=0.2), asked)
        memory.remember(said, found)
        recalled.append(memory.recall(Query("q", "h", "?")))
    assert recalled[0] == recalled[1]
    assert recalled[0].items > 1


@pytest.mark.parametrize("count", [10, 50])
def test_what_was_removed_is_never_found_before_and_after_gaps_are_closed(count):
    graph = stream("improved", "approximate")
    gone = {node.id: node.title for node in list(graph.nodes())[:count]}
    graph.remove_nodes(gone)
    graph.check()
    assert (len(graph.vectors) == len(graph)) == (count == 50)  # by then the greater part was removed
    for title in gone.values():
        assert not gone.keys() & {root.id for root in roots(graph, title, -1.0)}
    kept = next(graph.nodes())
    assert roots(graph, kept.title)[0].id == kept.id
    feed(graph, "again", extraction([("Artifact", next(iter(gone.values())))]), embedder=EMBEDDER)
    assert [node.sources for node in graph.nodes()][-1] == ["again"]


def test_nothing_is_found_once_all_is_removed():
    graph = stream("improved", "approximate", last=5)
    graph.remove_nodes([node.id for node in graph.nodes()])
    assert roots(graph, "thing 0") == []
    feed(graph, "again", extraction([("Artifact", "thing 1")]), embedder=EMBEDDER)
    assert len(roots(graph, "thing 1")) == 1


def test_a_graph_comes_back_from_its_tables_and_finds_and_merges_as_before():
    graph = stream("improved", "approximate")
    graph.remove_nodes([node.id for node in list(graph.nodes())[::7]])
    back = from_tables(to_tables(graph), graph.settings)
    assert same(graph, back)
    for i in range(NODES):
        assert roots(back, f"thing {i}") == roots(graph, f"thing {i}")
    for each in (graph, back):
        feed(each, "later", extraction([("Artifact", "thing 2"), ("Artifact", "new")]), embedder=EMBEDDER)
    assert same(graph, back)


def test_a_graph_beyond_reach_still_merges_what_is_nearly_equal():
    graph = new_graph("improved", index="approximate")
    texts = [f"item {i}" for i in range(4 * BREADTH)]
    feed(graph, "t0", extraction([("Artifact", text) for text in texts]), embedder=EMBEDDER)
    before = len(graph)
    twins = {f"Artifact: other {i}": f"Artifact: {texts[i]}" for i in range(0, len(texts), 10)}
    others = extraction([("Artifact", key.removeprefix("Artifact: ")) for key in twins])
    feed(graph, "t1", others, embedder=FakeHashEmbedder(twins))
    assert len(graph) == before == len(texts)


@pytest.mark.parametrize("profile", PROFILES)
def test_a_memory_without_the_extra_is_refused_when_it_is_made(profile, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch.index", None)
    GraphMemory(settings(profile), models("unasked"))
    with pytest.raises(BadInput, match=r"palimpsest\[ann\]"):
        GraphMemory(settings(profile, index="approximate"), models("unasked"))
