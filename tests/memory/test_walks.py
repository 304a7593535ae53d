"""When the floor acts, and which paths run through hubs: by hand, and against a search without a floor."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.graph import Moment
from memory.profiles import RETRIEVAL_FIELDS, GraphSettings
from memory.retrieval import Root, expand, find_roots
from memory.tables import same
from memory.walks import Paths, floor_acts, hubs, paths
from tests.memory.fake_models import extraction, feed, new_graph, settings
from tests.memory.forgetting.test_frozen import QUERY, asked, entities, recalls
from tests.memory.test_any_stream import fed, profiles, quick, streams, switches
from tests.memory.test_retrieval import NO_QUERIES, named


def graph_at(*cosines: float, label="Event", **changes):
    """One node for each cosine with the query (1, 0, 0, ...), and the query."""
    graph = new_graph("published", **changes)
    for number, cosine in enumerate(cosines):
        vector = np.zeros(16)
        vector[0], vector[number + 1] = cosine, np.sqrt(1 - cosine**2)
        kind = label if isinstance(label, str) else label[number]
        said = extraction([(kind, f"node {number}")]).nodes[0]
        graph.add_node(f"n{number}", Moment("t", "s", None), said, vector)
    return graph, np.eye(1, 16, dtype=np.float32)


def acts(graph, query, floor):
    return floor_acts(graph, query, find_roots(graph, [], query, floor))


def test_the_floor_acts_where_it_keeps_out_a_node_that_would_take_a_place():
    graph, query = graph_at(0.9, 0.8, 0.5, roots=3)
    assert acts(graph, query, 0.7)  # the third place stays empty, and node 2 would have it
    assert not acts(graph, query, 0.4)  # it keeps nothing out


def test_the_floor_does_not_act_where_all_places_are_taken_above_it():
    graph, query = graph_at(0.9, 0.8, 0.5, roots=2)
    assert not acts(graph, query, 0.7)


def test_the_floor_acts_where_a_person_has_the_place_that_another_node_would_take():
    graph, query = graph_at(0.9, 0.8, 0.5, label=("Event", "Person", "Event"), roots=2)
    assert acts(graph, query, 0.7)
    undemoted, query = graph_at(
        0.9, 0.8, 0.5, label=("Event", "Person", "Event"), roots=2, person_demotion=False
    )
    assert not acts(undemoted, query, 0.7)


def test_the_floor_does_not_act_where_the_nearest_stand_in_for_what_it_keeps_out():
    graph, query = graph_at(0.3, 0.2, roots=2, nearest_without_roots=True)
    assert not acts(graph, query, 0.7)
    bare, query = graph_at(0.3, 0.2, roots=2)
    assert acts(bare, query, 0.7)


@quick
@given(profiles, switches, recalls, streams, entities)
def test_the_floor_acts_exactly_where_a_search_without_it_finds_another_root(
    profile, changes, how, stream, question
):
    memory = fed(profile, {**changes, **how}, stream)
    queries = asked(memory, question).vectors
    roots = find_roots(memory.graph, question, queries, memory.floor)
    without = find_roots(memory.graph, question, queries, -1.0)
    expected = not {root.id for root in without} <= {root.id for root in roots}
    assert floor_acts(memory.graph, queries, roots) == expected


def star():
    """A hub with three arms of two nodes, and a pair apart: 0 - 1 - hub - 3 - 4, hub - 5; 6 - 7 - 8."""
    graph = new_graph("published", hops=4)
    links = [("0", "1"), ("1", "hub"), ("hub", "3"), ("3", "4"), ("hub", "5"), ("6", "7"), ("7", "8")]
    for number, (a, b) in enumerate(links):
        feed(graph, f"t{number}", extraction([("Concept", a), ("Concept", b)], [(a, "touches", b)]))
    return graph


def test_paths_of_two_hops_and_more_are_counted_and_those_that_have_a_hub_between_their_ends():
    graph = star()
    assert hubs(graph) == {named(graph, "hub")}  # one node in a hundred, and at least one
    walk = expand(graph, [Root(named(graph, "0"), 1.0)], NO_QUERIES)
    # From 0: the hub itself is two hops away, and no hub lies between; 3, 5 and 4 lie behind it.
    assert paths(walk, hubs(graph)) == Paths(all=4, through_hubs=3)
    walk = expand(graph, [Root(named(graph, "hub"), 1.0)], NO_QUERIES)
    # From the hub: 0 and 4 are two hops away; the root is an end, and what it leads to runs through no hub.
    assert paths(walk, hubs(graph)) == Paths(all=2, through_hubs=0)
    walk = expand(graph, [Root(named(graph, "6"), 1.0)], NO_QUERIES)
    assert paths(walk, hubs(graph)) == Paths(all=1, through_hubs=0)


VALUES = {
    "retrieval_floor": 0.1,
    "nearest_without_roots": False,
    "title_shortcut": "off",
    "person_demotion": False,
    "roots": 2,
    "hops": 1,
    "max_nodes": 3,
    "neighbours": "insertion",
    "edges": "walked",
    "max_edges": 1,
    "touch_on_recall": True,
    "show_dates": False,
    "max_context_characters": 10,
    "budget_tokens": 60,
    "entry_tokens": 3,
    "clean_titles": False,
}


def test_every_field_of_retrieval_is_tried():
    assert VALUES.keys() == RETRIEVAL_FIELDS
    assert all(getattr(settings("improved"), name) != value for name, value in VALUES.items())


@quick
@given(streams, st.sampled_from(sorted(RETRIEVAL_FIELDS)))
def test_a_field_of_retrieval_changes_nothing_of_the_graph_that_is_built(stream, field):
    built = fed("improved", {}, stream)
    other = fed("improved", {field: VALUES[field]}, stream)
    assert same(built.graph, other.graph)


@quick
@given(profiles, switches, recalls, streams, entities)
def test_a_memory_asked_with_other_settings_recalls_as_one_that_was_built_with_them(
    profile, changes, how, stream, question
):
    retrieval = {name: value for name, value in how.items() if name in RETRIEVAL_FIELDS}
    base = fed(profile, {**changes, "touch_on_recall": False}, stream)
    built = fed(profile, {**changes, **retrieval, "touch_on_recall": False}, stream)
    untouched = fed(profile, {**changes, "touch_on_recall": False}, stream)
    vectors = list(asked(base, question).vectors)
    view = base.asked_with(built.settings)
    assert view.recall_entities(QUERY, question, vectors) == built.recall_entities(QUERY, question, vectors)
    assert same(base.graph, untouched.graph)


def test_settings_that_would_build_another_graph_are_refused():
    memory = fed("improved", {}, [])
    with pytest.raises(ValueError, match="merge"):
        memory.asked_with(GraphSettings(**{**memory.settings.model_dump(), "merge": "old_wins"}))
