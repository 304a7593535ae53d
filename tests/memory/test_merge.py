from datetime import timedelta

import numpy as np
import pytest

from memory.attributes import current
from memory.graph import MemoryGraph, Moment
from memory.merge import USER_CONTENT, ToMerge, descriptor, merge_turn, merge_turns, prepared
from memory.tables import same
from tests.memory.fake_models import MAY, FakeHashEmbedder, extraction, feed, new_graph, settings, titles

PROFILES = ["published", "improved"]


def vector_at(cosine):
    """A unit vector at that cosine from the first axis."""
    return np.array([cosine, np.sqrt(1 - cosine**2)], np.float64)


def pair(first, second, cosine, dedup=0.92, **changes):
    """A graph that was given two nodes whose vectors have that cosine."""
    graph = MemoryGraph(2, settings("published", **changes))
    for turn, node, vector in (("t0", first, vector_at(1.0)), ("t1", second, vector_at(cosine))):
        merge_turn(graph, Moment(turn, "s", MAY), extraction([node]), [vector], dedup)
        graph.check()
    return graph


def test_the_descriptor_is_label_title_and_content():
    assert descriptor("Event", "run", None) == "Event: run"
    assert descriptor("Event", "run", "five kilometres") == "Event: run, five kilometres"


def test_the_user_node_is_always_described_in_the_same_words():
    (node,) = prepared(extraction([("Person", "USER", "a tired man")]))
    assert node.content == USER_CONTENT
    (other,) = prepared(extraction([("Concept", "user", "of a program")]))
    assert other.content == "of a program"


@pytest.mark.parametrize("profile", PROFILES)
def test_an_equal_title_of_the_same_label_is_the_same_node_whatever_its_vector(profile):
    graph = new_graph(profile)
    feed(graph, "t0", extraction([("Artifact", "Bike", "a red one")]))
    feed(graph, "t1", extraction([("Artifact", " bike ", "something else entirely")]))
    (node,) = graph.nodes()
    assert (node.title, node.content, node.sources) == ("Bike", "a red one", ["t0", "t1"])


@pytest.mark.parametrize("profile", PROFILES)
def test_an_equal_title_of_another_label_is_another_node(profile):
    graph = new_graph(profile)
    feed(graph, "t0", extraction([("Location", "Paris")]))
    feed(graph, "t1", extraction([("Person", "Paris")]))
    assert len(graph) == 2


def test_published_makes_a_third_node_of_a_title_that_two_labels_fight_for():
    turns = [("Location", "Paris"), ("Person", "Paris"), ("Location", "Paris")]
    for profile, expected in (("published", 3), ("improved", 2)):
        graph = new_graph(profile)
        for i, node in enumerate(turns):
            feed(graph, f"t{i}", extraction([(*node, f"said in turn {i}")]))
        assert len(graph) == expected


def test_vectors_merge_from_the_threshold_on():
    car, auto = ("Artifact", "car"), ("Artifact", "automobile")
    assert len(pair(car, auto, 0.93)) == 1
    assert len(pair(car, auto, 0.91)) == 2


def test_at_the_threshold_itself_the_code_merges_and_the_paper_does_not():
    car, auto = ("Artifact", "car"), ("Artifact", "automobile")
    assert len(pair(car, auto, 1.0, dedup=1.0)) == 1
    assert len(pair(car, auto, 1.0, dedup=1.0, comparison="above")) == 2


def test_the_vector_step_looks_at_labels_only_if_it_is_told_to():
    place, person = ("Location", "Washington"), ("Person", "George")
    assert len(pair(place, person, 0.99)) == 1
    assert len(pair(place, person, 0.99, dedup_within_label=True)) == 2


def test_two_nodes_of_one_turn_merge_only_where_the_turn_may_see_itself():
    said = extraction([("Event", "race", "in May"), ("Event", "Race", "in June")])
    for profile, expected in (("published", 2), ("improved", 1)):
        graph = new_graph(profile)
        feed(graph, "t0", said)
        assert len(graph) == expected


def test_a_node_seen_twice_in_one_turn_is_one_access_and_a_new_one_is_none():
    graph = new_graph("improved")
    feed(graph, "t0", extraction([("Event", "race"), ("Event", "Races")]))
    assert graph.columns["access_count"].tolist() == [0]
    feed(graph, "t1", extraction([("Event", "race"), ("Event", "Races")]), MAY + timedelta(days=1))
    row = graph.columns[0]
    assert (row["access_count"], row["turns_at_creation"], row["turns_at_last_access"]) == (1, 0, 1)
    assert row["last_accessed_at"] == np.datetime64("2023-05-21T12:00")
    assert row["created_at"] == np.datetime64("2023-05-20T12:00")


def test_the_time_of_last_access_goes_backwards_only_as_published():
    for profile, day in (("published", "2023-05-01T12:00"), ("improved", "2023-05-20T12:00")):
        graph = new_graph(profile)
        feed(graph, "t0", extraction([("Event", "race")]))
        for turn, days in (("t1", 0), ("t2", 19)):
            feed(graph, turn, extraction([("Event", "race")]), MAY - timedelta(days=days))
        assert graph.columns["last_accessed_at"][0] == np.datetime64(day)


def test_content_fills_a_gap_and_is_never_overwritten():
    graph = new_graph("published")
    for i, content in enumerate([None, "first", "second"]):
        feed(graph, f"t{i}", extraction([("Event", "race", content)]))
    assert [node.content for node in graph.nodes()] == ["first"]


def test_a_merge_keeps_the_newest_value_as_published_and_the_latest_dated_one_as_improved():
    for profile, value, versions in (("published", "Oslo", 1), ("improved", "Rome", 2)):
        graph = new_graph(profile)
        feed(graph, "t0", extraction([("Person", "Ann", None, {"city": "Rome"})]), MAY)
        feed(graph, "t1", extraction([("Person", "Ann", None, {"city": "Oslo"})]), MAY - timedelta(days=30))
        (node,) = graph.nodes()
        assert current(node.attributes) == {"city": value}
        assert len(node.attributes["city"]) == versions


def edge_of(verb, **attributes):
    return extraction([("Person", "User"), ("Location", "Rome")], [("User", verb, "Rome", attributes)])


def test_an_edge_that_is_said_again_is_one_edge_with_both_turns_and_the_new_values():
    graph = new_graph("published")
    feed(graph, "t0", edge_of("visited", raw_date="yesterday"))
    feed(graph, "t1", edge_of("visited", raw_date="today"))
    (edge,) = graph.edges()
    assert edge.sources == ["t0", "t1"]
    assert current(edge.attributes) == {"date": "2023-05-20", "date_approximate": False}
    assert edge.created_at == MAY


def test_relationships_are_compared_to_the_letter_as_published_and_loosely_as_improved():
    for profile, expected in (("published", 2), ("improved", 1)):
        graph = new_graph(profile)
        feed(graph, "t0", edge_of("works_at"))
        feed(graph, "t1", edge_of("Works at"))
        assert graph.topology.number_of_edges() == expected


def test_the_direction_of_an_edge_counts():
    graph = new_graph("improved")
    both = [("User", "knows", "Rome"), ("Rome", "knows", "User")]
    feed(graph, "t0", extraction([("Person", "User"), ("Location", "Rome")], both))
    assert graph.topology.number_of_edges() == 2
    assert graph.columns["degree"].tolist() == [2, 2]


def test_a_self_loop_that_a_merge_makes_is_kept_only_as_published():
    said = extraction([("Event", "race"), ("Event", "contest")], [("race", "is", "contest")])
    twins = FakeHashEmbedder({"Event: contest": "Event: race", "Event: run": "Event: race"})
    for profile, degree in (("published", 2), ("improved", 0)):
        graph = new_graph(profile)
        feed(graph, "t0", extraction([("Event", "run")]), embedder=twins)
        feed(graph, "t1", said, embedder=twins)
        assert titles(graph) == ["run"]
        assert graph.columns["degree"].tolist() == [degree]


def test_an_edge_to_a_key_that_is_not_there_is_skipped():
    graph = new_graph("published")
    feed(graph, "t0", extraction([("Person", "User")], [("User", "saw", "ghost")]))
    assert graph.edges() == []


def test_a_turn_of_no_content_counts_as_a_turn():
    graph = new_graph("published")
    feed(graph, "t0", extraction([]))
    feed(graph, "t1", extraction([("Event", "race")]))
    assert graph.turns == 2
    assert graph.columns["turns_at_creation"].tolist() == [1]


def test_merging_a_turn_again_changes_nothing():
    once, twice = new_graph("published"), new_graph("published")
    for graph, times in ((once, 1), (twice, 3)):
        for _ in range(times):
            feed(graph, "t0", edge_of("visited"))
    assert same(once, twice)


def test_a_node_without_a_vector_is_stored_only_where_its_title_is_known():
    graph = new_graph("improved")
    said = extraction([("Person", "User"), ("Event", "race")], [("User", "ran", "race")])
    feed(graph, "t0", extraction([("Person", "User")]))
    merge_turn(graph, Moment("t1", "s", MAY), said, [None, None], 0.92)
    graph.check()
    assert titles(graph) == ["User"]
    assert (graph.unembedded, graph.edges()) == (1, [])
    assert graph.node_at(0).sources == ["t0", "t1"]


def test_a_bad_vector_is_refused_before_anything_changes():
    graph = new_graph("improved")
    feed(graph, "t0", extraction([("Person", "User")]))
    before = new_graph("improved")
    feed(before, "t0", extraction([("Person", "User")]))
    said = extraction([("Event", "race"), ("Event", "swim")])
    good = FakeHashEmbedder().vector("x")
    with pytest.raises(ValueError, match="finite"):
        merge_turn(graph, Moment("t1", "s", MAY), said, [good, np.full(16, np.nan)], 0.92)
    assert same(graph, before)


def test_a_session_without_a_date_leaves_times_empty_and_dates_unresolved():
    graph = new_graph("improved")
    feed(graph, "t0", edge_of("visited", raw_date="yesterday"), time=None)
    feed(graph, "t1", edge_of("visited"), time=None)
    assert np.isnat(graph.columns["created_at"]).all() and np.isnat(graph.columns["last_accessed_at"]).all()
    assert current(graph.edges()[0].attributes) == {"date_approximate": False, "date_raw": "yesterday"}


def test_node_ids_are_the_same_in_every_run_and_differ_by_namespace():
    ids = []
    for namespace in ("a", "a", "b"):
        graph = MemoryGraph(16, settings("improved"), namespace)
        feed(graph, "t0", edge_of("visited"))
        ids.append([node.id for node in graph.nodes()])
    assert ids[0] == ids[1]
    assert not set(ids[0]) & set(ids[2])


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("shared", [1, 3, 64])
def test_turns_merged_together_give_the_graph_of_each_alone_in_however_many_scans(
    profile, shared, monkeypatch
):
    monkeypatch.setattr("memory.merge.SHARED", shared)
    random = np.random.default_rng(3)
    kinds = random.normal(size=(12, 16))
    turns = []
    for number in range(30):
        said = extraction([("Event", f"event {number} {i}") for i in range(number % 6)])
        vectors = [kinds[k] + 0.05 * random.normal(size=16) for k in random.integers(0, 12, number % 6)]
        turns.append(ToMerge(Moment(f"t{number}", "s", MAY), said, vectors))
    alone, together = (MemoryGraph(16, settings(profile)) for _ in range(2))
    for turn in turns:
        merge_turns(alone, [turn], 0.92)
    merge_turns(together, [*turns[:20], *turns[10:]], 0.92)
    together.check()
    assert 0 < len(alone) < sum(len(turn.vectors) for turn in turns)
    assert same(alone, together)


def test_a_bad_vector_of_a_later_turn_is_refused_before_anything_changes():
    graph = new_graph("improved")
    turns = [
        ToMerge(Moment(f"t{i}", "s", MAY), extraction([("Event", f"race {i}")]), [vector])
        for i, vector in enumerate([np.ones(16), np.zeros(16)])
    ]
    with pytest.raises(ValueError, match="zero"):
        merge_turns(graph, turns, 0.92)
    assert same(graph, new_graph("improved"))
