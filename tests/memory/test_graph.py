import numpy as np
import pytest

from memory.extraction import ExtractedNode
from memory.graph import Moment
from memory.retrieval import Root, expand, find_roots
from memory.tables import same, to_tables
from memory.validation import QueryEntity
from tests.memory.fake_models import MAY, FakeHashEmbedder, extraction, feed, new_graph, titles


def star(profile, leaves=4, **changes):
    """The user, with an edge to each of some events."""
    graph = new_graph(profile, **changes)
    for i in range(leaves):
        said = extraction([("Person", "User"), ("Event", f"event {i}")], [("User", "went to", f"event {i}")])
        feed(graph, f"t{i}", said)
    return graph


def named(graph, title):
    return next(node for node in graph.nodes() if node.title == title)


@pytest.mark.parametrize("profile", ["published", "improved"])
def test_removal_takes_edges_vectors_and_degrees_along(profile):
    graph = star(profile)
    gone = named(graph, "event 1")
    assert graph.remove_nodes([gone.id]) == 1
    graph.check()
    assert titles(graph) == ["User", "event 0", "event 2", "event 3"]
    assert named(graph, "User").id in graph and gone.id not in graph
    assert graph.columns["degree"][graph.live].tolist() == [3, 1, 1, 1]
    assert [edge.target for edge in graph.edges()] == [named(graph, f"event {i}").id for i in (0, 2, 3)]


def test_removing_the_hub_removes_all_edges_and_leaves_the_leaves():
    graph = star("improved")
    assert graph.remove_nodes([named(graph, "User").id]) == 4
    graph.check()
    assert graph.edges() == []
    assert graph.columns["degree"][graph.live].tolist() == [0, 0, 0, 0]


def test_no_path_leads_to_what_was_removed():
    graph = star("improved")
    gone = named(graph, "event 2")
    graph.remove_nodes([gone.id])
    query = FakeHashEmbedder().vector("Event: event 2")[None]
    roots = find_roots(graph, [QueryEntity("Event", "event 2")], query, -1.0)
    found = expand(graph, roots, query)
    assert roots and gone.id not in {root.id for root in roots} | {node.id for node in found.nodes}
    text = str([table.to_pylist() for name, table in to_tables(graph).items() if name != "turns"])
    assert gone.id not in text and "event 2" not in text


def test_published_leaves_a_title_that_takes_a_roots_place():
    graph = star("published")
    gone = named(graph, "event 2")
    graph.remove_nodes([gone.id])
    graph.check()
    query = FakeHashEmbedder().vector("Event: event 2")[None]
    roots = find_roots(graph, [QueryEntity("Event", "event 2")], query, 0.75)
    assert roots == [Root(gone.id, 1.0)]
    assert expand(graph, roots, query).nodes == ()


def test_what_was_removed_can_come_back_as_a_new_node():
    for profile in ("published", "improved"):
        graph = star(profile)
        old = named(graph, "event 0")
        graph.remove_nodes([old.id])
        feed(graph, "later", extraction([("Event", "event 0")]))
        assert named(graph, "event 0").id != old.id


def test_removing_what_is_not_there_is_refused_and_changes_nothing():
    graph = star("improved")
    before = to_tables(graph)
    with pytest.raises(KeyError):
        graph.remove_nodes([named(graph, "User").id, "nobody"])
    assert all(table.equals(before[name]) for name, table in to_tables(graph).items())


def test_rows_are_closed_up_once_most_are_dead_and_nothing_else_changes():
    graph, other = star("improved", leaves=10), star("improved", leaves=10)
    doomed = [f"event {i}" for i in range(8)]
    graph.remove_nodes([named(graph, title).id for title in doomed])
    for title in doomed:
        other.remove_nodes([named(other, title).id])
    graph.check()
    assert len(graph.columns) == 3 < len(other.columns)
    assert same(graph, other)
    for each in (graph, other):
        feed(each, "later", extraction([("Event", "event 9"), ("Event", "new")]))
    assert same(graph, other)


def test_an_edge_needs_both_its_ends():
    graph = star("improved")
    with pytest.raises(ValueError, match="nobody"):
        graph.add_edge(named(graph, "User").id, "saw", "nobody", Moment("t0", "s", MAY))
    graph.check()


def test_an_id_is_given_once():
    graph = star("improved")
    node = ExtractedNode(key="x", label="Event", title="x")
    with pytest.raises(ValueError, match="exists already"):
        graph.add_node(named(graph, "User").id, Moment("t0", "s", MAY), node, np.ones(16))
    graph.check()


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (lambda g: g.columns["degree"].__setitem__(0, 9), "degree"),
        (lambda g: g.columns["label"].__setitem__(0, 9), "label"),
        (lambda g: g.columns["access_count"].__setitem__(1, 3), "access"),
        (lambda g: g.vectors.matrix.__setitem__(0, np.nan), "finite"),
        (lambda g: g.vectors.matrix.__setitem__(0, 0.0), "unit"),
        (lambda g: g.vectors.remove([0]), "rows"),
        (lambda g: g.titles.entries.__setitem__(("Event", "x"), "nobody"), "does not exist"),
        (lambda g: g.titles.entries.__setitem__(("Event", "x"), named(g, "User").id), "another"),
        (lambda g: named(g, "User").sources.append("t0"), "twice"),
        (lambda g: named(g, "User").sources.append("never"), "never merged"),
        (lambda g: setattr(g.edges()[0], "target", named(g, "User").id), "filed under"),
        (lambda g: setattr(g.edges()[0], "order", 1), "order"),
        (lambda g: g.topology.remove_node(named(g, "User").id), "rows"),
    ],
)
def test_check_finds_each_kind_of_disagreement(spoil, complaint):
    graph = star("improved")
    spoil(graph)
    with pytest.raises(ValueError, match=complaint):
        graph.check()
