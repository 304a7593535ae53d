"""The reference that the core is timed against does what the core does, and what the description of it says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from memory.extraction import ExtractedEdge, ExtractedNode, Extraction
from tests.benchmarks import synthetic
from tests.benchmarks.agreement import PUBLISHED, contents, differences
from tests.benchmarks.published_in_python import PublishedMemory, copy_of, load
from tests.benchmarks.workload import NOON, conversation


@pytest.fixture
def graph():
    return synthetic.graph(synthetic.states(100, 32), PUBLISHED)


def test_the_core_and_the_published_algorithm_hold_and_recall_the_same(graph):
    assert differences(graph, turns=80, asked=40) == []


@pytest.mark.parametrize(
    ("switch", "value", "what"),
    [
        ("merge", "old_wins", "edges after merging"),
        ("dedup_within_turn", True, "nodes after merging"),
        ("title_key", "label_title", "titles after merging"),
        ("person_demotion", False, "roots after"),
        ("neighbours", "similarity", "nodes after question"),
        ("edges", "among_nodes", "edges after question"),
        ("show_dates", True, "context after"),
    ],
)
def test_a_core_with_one_other_switch_is_told_apart_where_that_switch_acts(switch, value, what):
    settings = PUBLISHED.model_copy(update={switch: value})
    found = differences(synthetic.graph(synthetic.states(100, 32), settings), turns=80, asked=40)
    assert any(difference.startswith(what) for difference in found)


def test_the_turns_of_the_comparison_meet_every_way_to_merge(graph):
    said = conversation(np.random.default_rng(5), graph, 80)
    before = len(graph)
    memory = copy_of(graph)
    for turn in said:
        memory.merge(turn.at.session, turn.at.time, turn.extraction, list(turn.vectors))
    extracted = sum(len(turn.extraction.nodes) for turn in said)
    assert before < len(memory.nodes) < before + extracted
    titles = [node["title"].lower().strip() for node in memory.nodes.values()]
    assert "" in titles
    assert len(set(titles)) < len(titles)
    assert any(edge["source"] == edge["target"] for edge in memory.edges.values())
    assert any(node["access_count"] > 1 for node in memory.nodes.values())


def test_two_hops_through_a_hub_by_hand():
    """a -> b -> c -> d, and e -> b: from a, two hops reach b, then c and e, not d, and b's edges are all shown."""
    memory = PublishedMemory()
    nodes = tuple(ExtractedNode(key=key, label="Concept", title=key) for key in "abcde")
    ends = ["ab", "bc", "cd", "eb"]
    edges = tuple(ExtractedEdge(source=end[0], target=end[1], relationship="to") for end in ends)
    memory.merge("s", NOON, Extraction(nodes=nodes, edges=edges), list(np.eye(5)))
    found, walked = memory.walk([(next(iter(memory.nodes)), 1.0)])
    assert [memory.nodes[id]["title"] for id in found] == ["a", "b", "c", "e"]
    context = memory.context(found, walked)
    assert context.splitlines()[-4:] == ["Edges:", "a --[to]--> b", "b --[to]--> c", "e --[to]--> b"]


def test_what_is_saved_is_indented_json_that_loads_to_the_same_memory(graph, tmp_path: Path):
    memory = copy_of(graph, store=list)
    memory.save(tmp_path / "graph.json")
    back = load(tmp_path / "graph.json")
    assert back.vector_index == memory.vector_index
    assert contents(back)["titles"] == contents(memory)["titles"]
    text = (tmp_path / "graph.json").read_text()
    assert text.startswith('{\n  "nodes": {\n    "n0": {\n      "id": "n0"')
    assert json.loads(text)["attribute_index"] == {}
