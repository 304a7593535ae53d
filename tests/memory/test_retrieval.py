import itertools

import numpy as np
import pytest

from memory.retrieval import Root, expand, find_roots, provenance
from memory.serialise import CUT, serialise
from memory.validation import QueryEntity
from tests.memory.fake_models import MAY, FakeHashEmbedder, extraction, feed, new_graph

NO_QUERIES = np.zeros((0, 16), np.float32)


def named(graph, title):
    return next(node for node in graph.nodes() if node.title == title).id


def shown(graph, found):
    return [graph.node(node.id).title for node in found.nodes]


def chain(profile, *names, **changes):
    """Concepts in a row, each with an edge to the next, one turn an edge."""
    graph = new_graph(profile, **changes)
    for i, (a, b) in enumerate(itertools.pairwise(names)):
        feed(graph, f"t{i}", extraction([("Concept", a), ("Concept", b)], [(a, "leads to", b)]))
    return graph


def roots_of(graph, *entities, queries=None, floor=0.75):
    asked = [QueryEntity(label, title) for label, title in entities]
    embedder = FakeHashEmbedder()
    if queries is None:
        queries = np.stack([embedder.vector(f"{label}: {title}") for label, title in entities])
    return [(graph.node(r.id).title, round(r.score, 3)) for r in find_roots(graph, asked, queries, floor)]


def test_a_title_hit_scores_one_and_a_vector_hit_its_cosine():
    graph = new_graph("published")
    feed(graph, "t0", extraction([("Event", "race"), ("Event", "swim", "in the sea")]))
    assert roots_of(graph, ("Event", "Race")) == [("race", 1.0)]
    assert roots_of(graph, ("Event", "swim")) == [("swim", 1.0)]


def test_published_takes_a_title_of_any_label_and_improved_only_of_its_own():
    for profile, expected in (("published", [("Paris", 1.0)]), ("improved", [])):
        graph = new_graph(profile, nearest_without_roots=False)
        feed(graph, "t0", extraction([("Location", "Paris", "a city")]))
        assert roots_of(graph, ("Person", "Paris")) == expected
    off = new_graph("improved", title_shortcut="off", nearest_without_roots=False)
    feed(off, "t0", extraction([("Location", "Paris", "a city")]))
    assert roots_of(off, ("Location", "Paris")) == []


def test_the_best_five_are_roots_and_persons_come_last():
    people = [("Person", "User"), ("Person", "Ann")]
    things = [("Artifact", f"thing {i}") for i in range(4)]
    graph = new_graph("published")
    feed(graph, "t0", extraction([*people, *things]))
    found = roots_of(graph, *people, *things)
    assert [title for title, _ in found] == [*(f"thing {i}" for i in range(4)), "User"]
    level = new_graph("published", person_demotion=False)
    feed(level, "t0", extraction([*people, *things]))
    assert [title for title, _ in roots_of(level, *people, *things)][:2] == ["User", "Ann"]


def test_below_the_floor_published_has_no_roots_and_improved_takes_the_nearest():
    for profile, count in (("published", 0), ("improved", 3)):
        graph = new_graph(profile)
        feed(graph, "t0", extraction([("Event", title) for title in ("race", "swim", "walk")]))
        assert len(roots_of(graph, ("Goal", "something else"))) == count


def test_at_the_floor_itself_the_code_says_yes_and_the_paper_says_no():
    for comparison, count in (("at_least", 1), ("above", 0)):
        graph = new_graph("published", comparison=comparison, title_shortcut="off")
        feed(graph, "t0", extraction([("Event", "race")]))
        exact = float(graph.vectors.exact([0], graph.vectors.matrix[0])[0])
        assert len(roots_of(graph, ("Event", "race"), queries=graph.vectors.matrix, floor=exact)) == count


def test_an_empty_graph_and_a_question_without_entities_have_no_roots():
    graph = new_graph("improved")
    assert find_roots(graph, [QueryEntity("Event", "x")], FakeHashEmbedder().vector("x")[None], 0.5) == []
    feed(graph, "t0", extraction([("Event", "race")]))
    assert find_roots(graph, [], NO_QUERIES, 0.5) == []
    assert expand(graph, [], NO_QUERIES).nodes == ()


@pytest.mark.parametrize("profile", ["published", "improved"])
def test_two_hops_are_walked_against_the_edges_too_and_no_third(profile):
    graph = chain(profile, "a", "b", "c", "d", "e", "f")
    found = expand(graph, [Root(named(graph, "c"), 1.0)], NO_QUERIES)
    assert sorted(shown(graph, found)) == ["a", "b", "c", "d", "e"]
    assert {graph.node(n.id).title: (n.depth, n.score) for n in found.nodes} == {
        "c": (0, 1.0),
        "b": (1, 0.5),
        "d": (1, 0.5),
        "a": (2, 0.25),
        "e": (2, 0.25),
    }


def test_nodes_are_visited_in_the_order_their_edges_were_stored():
    graph = chain("published", "b", "hub", "a")
    feed(graph, "t9", extraction([("Concept", "z"), ("Concept", "hub")], [("z", "leads to", "hub")]))
    found = expand(graph, [Root(named(graph, "hub"), 1.0)], NO_QUERIES)
    assert shown(graph, found) == ["hub", "b", "a", "z"]


def hub(profile, leaves, **changes):
    graph = new_graph(profile, **changes)
    for i in range(leaves):
        said = extraction([("Person", "User"), ("Event", f"event {i}")], [("User", "went to", f"event {i}")])
        feed(graph, f"t{i}", said)
    return graph


def test_published_caps_nodes_at_fifteen_but_shows_every_edge_of_a_hub():
    graph = hub("published", 40)
    found = expand(graph, [Root(named(graph, "User"), 1.0)], NO_QUERIES)
    assert shown(graph, found) == ["User", *(f"event {i}" for i in range(14))]
    assert len(found.edges) == 40
    assert "event 39" in serialise(graph, found)


def test_improved_shows_only_edges_between_the_nodes_it_shows():
    graph = hub("improved", 40)
    found = expand(graph, [Root(named(graph, "User"), 1.0)], NO_QUERIES)
    assert (len(found.nodes), len(found.edges)) == (15, 14)


def test_improved_visits_the_neighbours_nearest_to_the_question_first():
    graph = hub("improved", 40)
    query = FakeHashEmbedder().vector("Event: event 37")[None]
    found = expand(graph, [Root(named(graph, "User"), 1.0)], query)
    assert shown(graph, found)[:2] == ["User", "event 37"]


def test_published_leaves_out_edges_between_two_nodes_at_the_second_hop():
    triangle = extraction(
        [("Concept", c) for c in "rabcd"],
        [("r", "to", "a"), ("r", "to", "b"), ("a", "to", "c"), ("b", "to", "d"), ("c", "to", "d")],
    )
    for profile, count in (("published", 4), ("improved", 5)):
        graph = new_graph(profile)
        feed(graph, "t0", triangle)
        assert len(expand(graph, [Root(named(graph, "r"), 1.0)], NO_QUERIES).edges) == count


def test_edges_over_the_cap_go_by_the_scores_of_their_ends():
    graph = chain("improved", "a", "b", "c", max_edges=1)
    found = expand(graph, [Root(named(graph, "c"), 1.0)], NO_QUERIES)
    (edge,) = found.edges
    assert graph.node(edge.target).title == "c"


def test_a_turns_score_is_the_sum_of_its_share_in_each_node():
    graph = chain("published", "a", "b", "c")  # a: t0; b: t0 and t1; c: t1
    found = expand(graph, [Root(named(graph, "a"), 0.8)], NO_QUERIES)
    sources = {source.turn: source.score for source in provenance(graph, found)}
    assert sources == pytest.approx({"t0": 0.8 + 0.4 / 2, "t1": 0.4 / 2 + 0.2})
    assert [source.turn for source in provenance(graph, found)] == ["t0", "t1"]


def test_equal_turns_stay_in_the_order_of_the_conversation():
    graph = hub("improved", 3)
    found = expand(graph, [Root(named(graph, "User"), 1.0)], NO_QUERIES)
    assert [source.turn for source in provenance(graph, found)] == ["t0", "t1", "t2"]


def context(profile, **changes):
    graph = new_graph(profile, **changes)
    for i, (city, days) in enumerate((("Rome", 0), ("Oslo", 11))):
        said = extraction(
            [("Person", "Ann", "a friend", {"city": city}), ("Event", "race\nEdges:")],
            [("Ann", "ran", "race\nEdges:", {"km": 5})],
        )
        feed(graph, f"t{i}", said, MAY.replace(day=20 + days))
    return serialise(graph, expand(graph, [Root(named(graph, "Ann"), 1.0)], NO_QUERIES))


def test_the_published_context_is_one_line_a_node_and_one_an_edge_without_dates():
    assert context("published").split("\n") == [
        "Nodes:",
        "[Person] Ann (a friend) {city: Oslo}",
        "[Event] race Edges:",
        "Edges:",
        "Ann --[ran {km: 5}]--> race Edges:",
    ]


def test_the_improved_context_dates_what_was_said_and_keeps_what_was_so_before():
    assert context("improved").split("\n") == [
        "Nodes:",
        "[Person] Ann (a friend) {city: Oslo on 2023-05-31 (formerly Rome on 2023-05-20)}"
        " (said 2023-05-20, last 2023-05-31)",
        "[Event] race Edges: (said 2023-05-20, last 2023-05-31)",
        "Edges:",
        "Ann --[ran {km: 5}]--> race Edges: (said 2023-05-20, last 2023-05-31)",
    ]


def test_a_context_over_its_limit_is_cut_there_and_marked():
    assert context("published", max_context_characters=20) == "Nodes:\n[Person] Ann \n" + CUT
