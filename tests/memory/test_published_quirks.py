"""Hand-worked examples of what the reference code does and the paper does not say (facts, sections 4 to 7)."""

from datetime import date, timedelta

import numpy as np
import pytest

from memory.attributes import current
from memory.dates import resolve
from memory.retrieval import Root, expand, find_roots, provenance
from memory.validation import QueryEntity
from tests.memory.fake_models import MAY, FakeHashEmbedder, extraction, feed, new_graph, titles

NO_QUERIES = np.zeros((0, 16), np.float32)


def named(graph, title):
    return next(node for node in graph.nodes() if node.title == title).id


def asked(*entities):
    """Query entities from `(label, title[, content])`, and their vectors."""
    read = [QueryEntity(*entity) for entity in entities]
    text = [f"{e.label}: {e.title}" + (f", {e.content}" if e.content else "") for e in read]
    return read, np.stack([FakeHashEmbedder().vector(descriptor) for descriptor in text])


# --- roots ---


def test_a_dead_title_takes_a_roots_place_and_is_no_person():
    things = [("Artifact", f"thing {i}") for i in range(5)]
    graph = new_graph("published")
    feed(graph, "t0", extraction([("Person", "Ann"), ("Person", "Bo"), *things]))
    gone = named(graph, "Bo")
    graph.remove_nodes([gone])
    roots = find_roots(graph, *asked(("Person", "Ann"), ("Person", "Bo"), *things), 0.75)
    # Seven hits of score 1 in the entities' order; Ann goes last, and the dead Bo, whom nobody knows for one, not.
    assert [root.id for root in roots] == [gone, *(named(graph, f"thing {i}") for i in range(4))]


def test_a_title_hit_comes_before_an_equal_vector_even_where_a_cosine_rounds_to_more_than_one():
    embedder = FakeHashEmbedder()
    for i in range(200):
        graph = new_graph("published")
        feed(graph, "t0", extraction([("Event", "race", f"number {i}"), ("Event", "swim")]))
        unit = embedder.vector(f"Event: race, number {i}")
        if graph.vectors.exact([0], unit)[0] > 1:
            break
    else:
        pytest.fail("no vector's product with itself rounds to more than one")
    graph.titles.remove("Event", "race", named(graph, "race"))
    roots = find_roots(graph, *asked(("Event", "race", f"number {i}"), ("Goal", "swim")), 0.75)
    assert roots == [Root(named(graph, "swim"), 1.0), Root(named(graph, "race"), 1.0)]


# --- the walk ---


def test_the_cap_stops_nodes_but_not_the_edges_of_the_node_that_is_being_walked():
    """Four nodes may be held, two of them roots: walking r adds x and y, and records all four edges of r.

    No edge of s, which is never walked, is recorded; z is shown by an edge alone.
    """
    graph = new_graph("published", max_nodes=4)
    feed(
        graph,
        "t0",
        extraction(
            [("Concept", title) for title in "rsxyzq"],
            [
                ("x", "1", "r"),
                ("s", "2", "q"),
                ("r", "3", "y"),
                ("z", "4", "r"),
                ("r", "5", "x"),
                ("y", "6", "q"),
            ],
        ),
    )
    found = expand(
        graph, [Root(named(graph, "r"), 1.0), Root("dead", 1.0), Root(named(graph, "s"), 0.8)], NO_QUERIES
    )
    assert [graph.node(node.id).title for node in found.nodes] == ["r", "s", "x", "y"]
    assert [edge.relationship for edge in found.edges] == ["1", "3", "4", "5"]


def test_an_edge_is_recorded_once_where_it_was_found_first_and_a_self_loop_too():
    graph = new_graph("published")
    feed(
        graph,
        "t0",
        extraction(
            [("Concept", title) for title in "abc"],
            [("b", "1", "c"), ("a", "2", "a"), ("a", "3", "b"), ("a", "4", "b")],
        ),
    )
    found = expand(graph, [Root(named(graph, "a"), 1.0)], NO_QUERIES)
    assert [edge.relationship for edge in found.edges] == ["2", "3", "4", "1"]


def test_the_turn_of_the_root_ranks_first_and_a_hub_says_little_of_any():
    """Four turns, each with the user and one event; the root is event 2, at 0.9.

    Event 2 gives t2 0.9; the user, one hop away, 0.45 / 4 to each; the other events, two hops away, 0.225 each.
    """
    graph = new_graph("published")
    for i in range(4):
        said = extraction([("Person", "User"), ("Event", f"event {i}")], [("User", "went to", f"event {i}")])
        feed(graph, f"t{i}", said)
    found = expand(graph, [Root(named(graph, "event 2"), 0.9)], NO_QUERIES)
    ranked = [(source.turn, round(source.score, 6)) for source in provenance(graph, found)]
    assert ranked == [("t2", 1.0125), ("t0", 0.3375), ("t1", 0.3375), ("t3", 0.3375)]


# --- the write path ---


def test_two_equal_nodes_of_one_turn_stay_two_and_the_title_names_the_second_from_then_on():
    graph = new_graph("published")
    twins = extraction([("Event", "race", "in May"), ("Event", "race ", "in June")])
    feed(graph, "t0", twins)
    feed(graph, "t1", extraction([("Event", "Race", None, {"km": 5})]))
    assert titles(graph) == ["race", "race "]
    assert [current(node.attributes) for node in graph.nodes()] == [{}, {"km": 5}]
    assert graph.columns["access_count"].tolist() == [0, 1]


def test_an_edge_said_twice_in_one_turn_is_one_edge_and_the_later_value_stands():
    graph = new_graph("published")
    twice = [("User", "owns", "bike", {"price": 5, "colour": "red"}), ("User", "owns", "bike", {"price": 7})]
    feed(graph, "t0", extraction([("Person", "User"), ("Artifact", "bike")], twice))
    (edge,) = graph.edges()
    assert (current(edge.attributes), edge.sources) == ({"price": 7, "colour": "red"}, ["t0"])
    assert graph.columns["degree"].tolist() == [1, 1]


def test_edges_are_one_where_their_ends_were_merged_and_keep_the_first_ones_date():
    same = FakeHashEmbedder({"Artifact: bicycle": "Artifact: bike"})
    graph = new_graph("published")
    for i, thing in enumerate(("bike", "bicycle")):
        said = extraction([("Person", "User"), ("Artifact", thing)], [("User", "owns", thing, {"n": i})])
        feed(graph, f"t{i}", said, MAY + timedelta(days=i), embedder=same)
    (edge,) = graph.edges()
    assert (current(edge.attributes), edge.created_at, edge.sources) == ({"n": 1}, MAY, ["t0", "t1"])


def test_sessions_out_of_order_leave_the_last_told_value_as_published_and_the_latest_as_improved():
    """April, June and May are told in this order."""
    for profile, held in (("published", ["May"]), ("improved", ["April", "May", "June"])):
        graph = new_graph(profile)
        for i, (month, value) in enumerate(((4, "April"), (6, "June"), (5, "May"))):
            said = extraction(
                [("Person", "User"), ("Location", "home")], [("User", "lives at", "home", {"since": value})]
            )
            feed(graph, f"t{i}", said, MAY.replace(month=month))
        (edge,) = graph.edges()
        assert [version.value for version in edge.attributes["since"]] == held


# --- dates ---


@pytest.mark.parametrize(
    ("raw", "anchor", "day", "approximate"),
    [
        ("last tuesday", date(2023, 5, 23), "2023-05-16", False),  # itself a Tuesday: strictly earlier
        ("last monday, a few days ago", date(2023, 5, 20), "2023-05-15", False),  # the weekday is tried first
        ("10 days ago, in a recent talk", date(2023, 5, 20), "2023-05-10", False),  # then the count
        ("a couple of days before march 3", date(2023, 5, 20), "2023-05-13", True),  # then the vague words
        ("on the 12th of march 30", date(2023, 5, 20), "2023-03-30", False),  # then month before day
        ("12 of march", date(2023, 5, 20), "2023-03-12", False),
        ("may 20", date(2023, 5, 20), "2023-05-20", False),  # today is not after the anchor
        ("may 21", date(2023, 5, 20), "2022-05-21", False),
        ("1 month ago", date(2023, 1, 15), "2022-12-15", False),
        ("12 months ago", date(2023, 12, 31), "2022-12-31", False),
    ],
)
def test_the_rules_for_dates_are_tried_in_the_order_of_the_reference_code(raw, anchor, day, approximate):
    found = resolve(raw, anchor, "published")
    assert found and (found.date, found.approximate) == (day, approximate)
