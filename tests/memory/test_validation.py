import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.extraction import LABELS, Extraction
from memory.validation import check_extraction, read_entities, read_extraction

FAULTY = {
    "nodes": {
        "a": {"label": "Person", "title": "User"},
        "b": {"label": "Technique", "title": "kneading"},
        "c": {"label": "Event", "title": "  "},
        "d": {"label": "artifact", "title": "bread", "content": "a loaf", "attributes": {"grams": 500}},
        "e": "not a node",
    },
    "edges": {
        "1": {"source": "a", "target": "d", "relationship": "baked"},
        "2": {"source": "a", "target": "b", "relationship": "learned"},
        "3": {"source": "a", "target": "ghost", "relationship": "saw"},
        "4": {"source": "a", "target": "a", "relationship": "likes"},
        "5": {"source": "a", "target": "d", "relationship": ""},
    },
}


def kinds(dropped):
    return sorted(fault.kind for fault in dropped)


def test_repair_drops_what_is_wrong_keeps_the_rest_and_reports_it():
    extraction, dropped = read_extraction(json.dumps(FAULTY), "repair")
    assert [(node.key, node.label) for node in extraction.nodes] == [("a", "Person"), ("d", "Artifact")]
    assert [(edge.source, edge.target, edge.relationship) for edge in extraction.edges] == [
        ("a", "d", "baked")
    ]
    assert kinds(dropped) == [
        "dangling_edge",
        "dangling_edge",
        "empty_relationship",
        "empty_title",
        "not_an_object",
        "self_loop",
        "undefined_label",
    ]
    assert "b: Technique" in {fault.detail for fault in dropped}


def test_off_keeps_all_but_what_the_reference_code_cannot_store_and_reports_every_fault():
    extraction, dropped = read_extraction(json.dumps(FAULTY), "off")
    assert [node.label for node in extraction.nodes] == ["Person", "Technique", "Event", "artifact"]
    assert [edge.target for edge in extraction.edges] == ["d", "b", "a", "d"]
    assert kinds(dropped) == [
        "dangling_edge",
        "empty_relationship",
        "empty_title",
        "not_an_object",
        "self_loop",
        "undefined_label",
    ]


def test_reject_refuses_the_whole_reply_and_counts_why():
    with pytest.raises(ValueError, match="1 undefined_label"):
        read_extraction(json.dumps(FAULTY), "reject")


@pytest.mark.parametrize("mode", ["off", "reject", "repair"])
@pytest.mark.parametrize(
    "text", ['{"nodes": {}, "edges": {}}', '{"nodes": [], "edges": []}', "{}", "[]", '{"nodes": null}']
)
def test_an_empty_extraction_is_a_success(text, mode):
    assert read_extraction(text, mode) == (Extraction(), ())


def test_lists_are_keyed_by_position_as_in_the_reference_code():
    reply = {
        "nodes": [{"label": "Person", "title": "User"}, {"label": "Location", "title": "Rome"}],
        "edges": [{"source": "node_0", "target": "node_1", "relationship": "visited"}],
    }
    extraction, dropped = read_extraction(json.dumps(reply), "reject")
    assert [node.key for node in extraction.nodes] == ["node_0", "node_1"]
    assert len(extraction.edges) == 1 and not dropped


def test_lists_with_own_keys_keep_them():
    reply = {
        "nodes": [
            {"key": "u", "label": "Person", "title": "User"},
            {"id": 7, "label": "Location", "title": "Rome"},
        ],
        "edges": [{"source": "u", "target": 7, "relationship": "visited"}],
    }
    extraction, _ = read_extraction(json.dumps(reply), "reject")
    assert [(edge.source, edge.target) for edge in extraction.edges] == [("u", "7")]


def test_a_top_level_array_of_nodes_and_edges_is_sorted_apart():
    reply = [
        {"label": "Person", "title": "User"},
        {"label": "Location", "title": "Rome"},
        {"source": "node_0", "target": "node_1", "relationship": "visited"},
    ]
    extraction, _ = read_extraction(json.dumps(reply), "reject")
    assert (len(extraction.nodes), len(extraction.edges)) == (2, 1)


def test_a_repeated_id_is_reported_whether_in_a_list_or_in_a_map():
    node = {"key": "n", "label": "Person", "title": "User"}
    extraction, dropped = read_extraction(json.dumps({"nodes": [node, node]}), "repair")
    assert (len(extraction.nodes), kinds(dropped)) == (1, ["duplicate_id"])
    twice = '{"nodes": {"n": {"label": "Person", "title": "A"}, "n": {"label": "Person", "title": "B"}}}'
    extraction, dropped = read_extraction(twice, "repair")
    assert ([node.title for node in extraction.nodes], kinds(dropped)) == (["B"], ["duplicate_id"])


def test_odd_fields_are_met_without_a_crash():
    reply = {
        "nodes": {
            "a": {"label": "Person", "title": "User", "content": None, "attributes": None},
            "b": {
                "label": "Event",
                "title": 1999,
                "content": ["x"],
                "attributes": {"n": None, "l": [1], "t": True},
            },
            "c": {"label": None, "title": None},
            "d": {"label": "Goal", "title": "run", "attributes": [{"name": "km", "value": 5}, "noise"]},
        }
    }
    extraction, dropped = read_extraction(json.dumps(reply), "repair")
    nodes = {node.key: node for node in extraction.nodes}
    assert nodes["a"].attributes == {}
    assert (nodes["b"].title, nodes["b"].content) == ("1999", None)
    assert nodes["b"].attributes == {"l": "[1]", "t": True}
    assert nodes["d"].attributes == {"km": 5}
    assert kinds(dropped) == ["undefined_label"]


@pytest.mark.parametrize(
    "text", ['{"facts": []}', '{"nodes": 3}', "no JSON here", '{"properties": {"nodes": {}}}']
)
def test_a_reply_without_an_extraction_is_asked_for_again(text):
    with pytest.raises(ValueError):
        read_extraction(text, "off")


def test_text_that_no_table_can_hold_is_replaced():
    extraction, _ = read_extraction('{"nodes": {"n": {"label": "Person", "title": "a\\ud800b"}}}', "repair")
    assert extraction.nodes[0].title.encode() == b"a?b"


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)
record = st.dictionaries(
    st.sampled_from(["label", "title", "content", "attributes", "source", "target", "relationship", "key"]),
    st.sampled_from([*LABELS, "n1", "n2", "", None]) | json_values,
    max_size=8,
)
records = st.dictionaries(st.sampled_from(["n1", "n2", "n3"]), record | json_values) | st.lists(
    record | json_values
)


@given(st.fixed_dictionaries({"nodes": records, "edges": records}))
def test_repair_leaves_nothing_that_the_schema_forbids(reply):
    extraction, _ = read_extraction(json.dumps(reply), "repair")
    keys = [node.key for node in extraction.nodes]
    assert len(set(keys)) == len(keys)
    assert all(node.label in LABELS and node.title.strip() for node in extraction.nodes)
    assert all(
        {edge.source, edge.target} <= set(keys) and edge.source != edge.target for edge in extraction.edges
    )
    assert check_extraction(extraction, "reject") == (extraction, ())


@given(json_values, st.sampled_from(["off", "reject", "repair"]))
def test_any_json_is_read_or_refused(value, mode):
    with suppress(ValueError):
        read_extraction(json.dumps(value), mode)


def test_query_entities_are_read_in_their_usual_shapes():
    entity = {"label": "location", "title": "Rome", "content": "a city"}
    for shape in ({"entities": [entity]}, [entity], {"entities": {"1": entity}}):
        (read,) = read_entities(json.dumps(shape))
        assert (read.label, read.title, read.content) == ("Location", "Rome", "a city")


def test_query_entities_without_a_title_are_left_out_and_none_is_an_answer():
    assert read_entities('{"entities": [{"label": "Event"}, "x", null]}') == ()
    assert read_entities('{"entities": []}') == ()


@pytest.mark.parametrize("text", ["{}", '{"entities": 3}', "none"])
def test_a_reply_without_a_list_of_entities_is_asked_for_again(text):
    with pytest.raises(ValueError):
        read_entities(text)
