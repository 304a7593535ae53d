"""Under a mask a frozen graph recalls what the graph recalls once the nodes are really gone."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as budget
from hypothesis import strategies as st

from memory.conversation import Query
from memory.forgetting.candidates import Asked, candidates
from memory.forgetting.frozen import FrozenGraph
from memory.merge import descriptor
from memory.retrieval import expand, find_roots
from memory.validation import QueryEntity
from tests.memory.fake_models import FakeHashEmbedder, extraction, feed, new_graph
from tests.memory.test_any_stream import TITLES, TWINS, fed, profiles, streams, switches

QUERY = Query("q", "h", "?")
EMBEDDER = FakeHashEmbedder(TWINS)
quick = budget(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow])
entities = st.lists(
    st.builds(
        QueryEntity,
        label=st.sampled_from(["Person", "Location", "Event"]),
        title=st.sampled_from(TITLES[:6]),
        content=st.sampled_from([None, "one"]),
    ),
    max_size=4,
).map(tuple)
# A low floor lets many nodes in, a high one only titles and the nearest; few roots and nodes let caps bite.
recalls = st.fixed_dictionaries(
    {},
    optional={
        "retrieval_floor": st.sampled_from([-1.0, 0.0, 0.3, 1.0]),
        "title_shortcut": st.sampled_from(["off", "any_label", "same_label"]),
        "person_demotion": st.booleans(),
        "nearest_without_roots": st.booleans(),
        "neighbours": st.sampled_from(["insertion", "similarity"]),
        "roots": st.integers(1, 5),
        "hops": st.integers(0, 3),
        "max_nodes": st.integers(1, 15),
        "normalise_titles": st.booleans(),
    },
)


def asked(memory, named):
    units = [
        memory.graph.vectors.unit(EMBEDDER.vector(descriptor(e.label, e.title, e.content))) for e in named
    ]
    return Asked(named, np.stack(units) if units else np.zeros((0, memory.graph.dimensions), np.float32))


def provenance_of(memory, question):
    return memory.recall_entities(QUERY, question.entities, list(question.vectors)).provenance


def named_turns(frozen, found, namespace=0):
    names = {number: turn for turn, number in frozen.numbers[namespace].items()}
    return [names[int(turn)] for turn in found[0]], [float(score) for score in found[1]]


def masks(data, count, draws=3):
    return [
        np.array(data.draw(st.lists(st.booleans(), min_size=count, max_size=count)), bool)
        for _ in range(draws)
    ]


def removed(memory, live):
    """The memory with the nodes that a mask leaves out really removed."""
    tables = memory.tables()
    copy = type(memory).from_tables(tables, memory.settings, memory.models)
    copy.graph.remove_nodes(
        [node.id for node, lives in zip(copy.graph.nodes(), live, strict=True) if not lives]
    )
    return copy


@quick
@given(profiles, switches, recalls, streams, st.lists(entities, min_size=1, max_size=4), st.data())
def test_a_mask_recalls_and_ranks_what_removal_would(profile, changes, how, stream, questions, data):
    memory = fed(profile, {**changes, **how, "touch_on_recall": False}, stream)
    if data.draw(st.booleans()):  # a graph that has forgotten before: with gaps, and titles of the dead
        gone = [node.id for node in memory.graph.nodes()][::3]
        memory.graph.remove_nodes(gone)
    frozen = FrozenGraph.of(memory.graph)
    given_questions = [asked(memory, each) for each in questions]
    possible = candidates(frozen, memory.graph, given_questions, memory.floor)
    ids = [node.id for node in memory.graph.nodes()]
    everything = [*memory.graph.moments, "a turn never merged"]
    evidence = frozen.evidence([everything] * len(questions))
    for live in masks(data, len(frozen)):
        pruned = removed(memory, live)
        remaining = frozen.under(live)
        ranks = remaining.all_ranks(possible, evidence)
        for i, question in enumerate(given_questions):
            roots = find_roots(pruned.graph, question.entities, question.vectors, memory.floor)
            walked = remaining.walk(possible[i])
            subgraph = expand(pruned.graph, roots, question.vectors).nodes
            assert [ids[node] for node in walked] == [node.id for node in subgraph]
            assert list(walked.values()) == pytest.approx([node.score for node in subgraph], abs=1e-12, rel=0)
            expected = provenance_of(pruned, question)
            turns, scores = named_turns(frozen, remaining.recall(possible[i]))
            assert turns == [source.turn for source in expected]
            assert scores == pytest.approx([source.score for source in expected], abs=1e-12, rel=0)
            places = {turn: rank for rank, turn in enumerate(turns, start=1)}
            of_question = ranks[evidence.starts[i] : evidence.starts[i + 1]]
            assert of_question.tolist() == [places.get(turn, 0) for turn in everything]
        standing = {turn for node in pruned.graph.nodes() for turn in node.sources}
        survived = remaining.survives(evidence[0])
        assert survived.tolist() == [turn in standing for turn in everything]


@quick
@given(profiles, recalls, st.lists(streams, min_size=2, max_size=3), entities, st.data())
def test_graphs_frozen_together_answer_as_each_alone(profile, how, some, question, data):
    memories = [fed(profile, {**how, "touch_on_recall": False}, stream) for stream in some]
    frozen = FrozenGraph.of(*(memory.graph for memory in memories))
    (live,) = masks(data, len(frozen), 1)
    remaining = frozen.under(live)
    for i, memory in enumerate(memories):
        (possible,) = candidates(frozen, memory.graph, [asked(memory, question)], memory.floor, i)
        pruned = removed(memory, live[frozen.first_node[i] : frozen.first_node[i + 1]])
        expected = provenance_of(pruned, asked(memory, question))
        turns, scores = named_turns(frozen, remaining.recall(possible), i)
        assert turns == [source.turn for source in expected]
        assert scores == pytest.approx([source.score for source in expected], abs=1e-12, rel=0)
        evidence = frozen.evidence([list(memory.graph.moments)], [i])
        places = {turn: rank for rank, turn in enumerate(turns, start=1)}
        expected_ranks = [places.get(turn, 0) for turn in memory.graph.moments]
        assert remaining.all_ranks([possible], evidence).tolist() == expected_ranks


def hub(leaves, **changes):
    """The user and things of one turn each; the user stands on all turns."""
    graph = new_graph("published", **changes)
    for i in range(leaves):
        said = extraction([("Person", "User"), ("Event", f"event {i}")], [("User", "went to", f"event {i}")])
        feed(graph, f"t{i}", said)
    return graph


def question(*titles):
    return Asked(tuple(QueryEntity("Event", title) for title in titles), np.zeros((0, 16), np.float32))


def test_a_hub_that_goes_takes_the_way_to_its_neighbours_along():
    graph = hub(20)
    frozen = FrozenGraph.of(graph)
    possible = candidates(frozen, graph, [question("event 3")], 0.75)
    evidence = frozen.evidence([["t3", "t0", "t19"]])
    # Root event 3 (1.0), the hub (0.5 on 20 turns), then events 0, 1, ... (0.25), 15 nodes in all.
    whole = np.ones(len(frozen), bool)
    assert frozen.under(whole).all_ranks(possible, evidence).tolist() == [1, 2, 20]
    without = np.array([node.title != "User" for node in graph.nodes()])
    assert frozen.under(without).all_ranks(possible, evidence).tolist() == [1, 0, 0]
    assert frozen.under(without).survives(evidence.items).all()


def test_a_hub_can_be_kept_from_answering_for_every_turn():
    graph = hub(20)
    frozen = FrozenGraph.of(graph)
    only_user = frozen.under(np.array([node.title == "User" for node in graph.nodes()]))
    turns = np.arange(20)
    assert only_user.survives(turns).all()
    assert not only_user.survives(turns, widest=19).any()


@pytest.mark.parametrize(("clean", "expected"), [(False, ["event 1"]), (True, ["event 1", "event 2"])])
def test_a_title_that_forgetting_left_behind_takes_the_place_of_a_root(clean, expected):
    graph = hub(4, clean_titles=clean, roots=2, hops=0)
    frozen = FrozenGraph.of(graph)
    (possible,) = candidates(frozen, graph, [question("event 0", "event 1", "event 2")], 0.75)
    nodes = list(graph.nodes())
    live = np.array([node.title != "event 0" for node in nodes])
    assert [nodes[node].title for node in frozen.under(live).walk(possible)] == expected


def test_where_only_the_nearest_is_left_a_person_comes_after_its_equal():
    graph = new_graph("improved", roots=1, hops=0)
    twins = FakeHashEmbedder({"Event: race": "Person: Ann"})
    feed(graph, "t0", extraction([("Person", "Ann"), ("Event", "race")]), embedder=twins)
    asked_of_neither = Asked((), twins.vector("Goal: something else")[None])
    frozen = FrozenGraph.of(graph)
    (possible,) = candidates(frozen, graph, [asked_of_neither], 0.75)
    assert list(frozen.under(np.array([True, True])).walk(possible)) == [1]
    assert list(frozen.under(np.array([True, False])).walk(possible)) == [0]


def test_neighbours_are_visited_in_the_order_of_their_edges_not_of_their_age():
    graph = new_graph("published", max_nodes=2)
    feed(graph, "t0", extraction([("Event", "old")]))
    feed(graph, "t1", extraction([("Event", "hub"), ("Event", "new")], [("new", "is at", "hub")]))
    feed(graph, "t2", extraction([("Event", "hub"), ("Event", "old")], [("hub", "is at", "old")]))
    frozen = FrozenGraph.of(graph)
    (possible,) = candidates(frozen, graph, [question("hub")], 0.75)
    assert list(frozen.under(np.ones(3, bool)).walk(possible)) == [1, 2]


def test_a_dead_node_of_another_label_is_a_title_hit_and_a_live_one_only_a_vector():
    graph = new_graph("published", title_shortcut="same_label", roots=1, hops=0)
    feed(graph, "t0", extraction([("Goal", "race"), ("Event", "swim")]))
    frozen = FrozenGraph.of(graph)
    vector = graph.vectors.matrix[0][None]
    (possible,) = candidates(frozen, graph, [Asked((QueryEntity("Event", "race"),), vector)], 0.75)
    assert list(frozen.under(np.array([True, True])).walk(possible)) == [0]
    assert possible.live.tolist() == [False, True]


def test_a_mask_of_another_length_and_graphs_of_other_settings_are_refused():
    graph = hub(2)
    with pytest.raises(ValueError, match="over 3 nodes"):
        FrozenGraph.of(graph).under(np.ones(4, bool))
    with pytest.raises(ValueError, match="equal settings"):
        FrozenGraph.of(graph, new_graph("improved"))
