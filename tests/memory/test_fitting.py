"""Turns and the lines of a graph as pieces of a context."""

from __future__ import annotations

from memory import tokens
from memory.fitting import graph_pieces, turn_pieces
from memory.retrieval import Root, expand
from memory.serialise import serialise
from tests.memory.fake_models import extraction, feed, new_graph
from tests.memory.test_retrieval import NO_QUERIES, named


def test_a_turn_is_one_piece_with_the_rule_that_follows_it():
    (found,) = turn_pieces([("h#0.0", "I moved to Rome.")])
    assert found.turns == {"h#0.0"}
    assert found.tokens == tokens.count("I moved to Rome.\n\n---\n\n")


def town(**changes):
    graph = new_graph("improved", **changes)
    feed(graph, "t0", extraction([("Person", "Ann"), ("Location", "Rome")], [("Ann", "lives in", "Rome")]))
    said = [("Person", "Ann", None, {"age": 30}), ("Location", "Oslo")]
    feed(graph, "t1", extraction(said, [("Ann", "left", "Oslo")]))
    feed(graph, "t2", extraction([("Person", "Ann")]))
    return graph


def test_a_graph_is_its_nodes_best_first_each_with_its_edges_to_those_before_it():
    graph = town()
    walk = expand(graph, [Root(named(graph, "Oslo"), 1.0)], NO_QUERIES)
    pieces = graph_pieces(graph, walk)
    assert [p.text.split(" (said")[0] for p in pieces] == [
        "[Location] Oslo",
        "[Person] Ann {age: 30}",
        "Ann --[left]--> Oslo",
        "[Location] Rome",
        "Ann --[lives in]--> Rome",
    ]
    shown = [line for line in serialise(graph, walk).splitlines() if not line.endswith(":")]
    assert sorted(p.text for p in pieces) == sorted(shown)


def test_a_node_says_something_of_its_first_turn_and_of_those_of_its_attributes_only():
    graph = town()
    walk = expand(graph, [Root(named(graph, "Ann"), 1.0)], NO_QUERIES)
    by_text = {p.text.split(" (said")[0]: p.turns for p in graph_pieces(graph, walk)}
    assert by_text["[Person] Ann {age: 30}"] == {"t0", "t1"}  # t2 only names her again
    assert by_text["Ann --[left]--> Oslo"] == {"t1"}


def test_former_values_count_where_they_are_shown():
    for profile, expected in (("improved", {"t0", "t1"}), ("published", {"t0"})):
        graph = new_graph(profile, keep_history=True, merge="old_wins")
        feed(graph, "t0", extraction([("Person", "Ann", None, {"city": "Rome"})]))
        feed(graph, "t1", extraction([("Person", "Ann", None, {"city": "Oslo"})]))
        walk = expand(graph, [Root(named(graph, "Ann"), 1.0)], NO_QUERIES)
        assert graph_pieces(graph, walk)[0].turns == expected, profile


def test_an_edge_that_leaves_the_subgraph_follows_the_end_that_is_inside():
    hub = new_graph("published", max_nodes=2)
    for i, other in enumerate("bc"):
        feed(hub, f"t{i}", extraction([("Concept", "a"), ("Concept", other)], [("a", "leads to", other)]))
    walk = expand(hub, [Root(named(hub, "a"), 1.0)], NO_QUERIES)
    assert [p.text for p in graph_pieces(hub, walk)] == [
        "[Concept] a",
        "a --[leads to]--> c",
        "[Concept] b",
        "a --[leads to]--> b",
    ]
