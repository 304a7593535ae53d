"""What merging found again, and what it left twice."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as budget
from hypothesis import strategies as st

from memory.duplicates import near_duplicates
from memory.extraction import ExtractedNode
from memory.graph import Moment
from tests.memory.fake_models import DIMENSIONS, FakeHashEmbedder, extraction, feed, new_graph, titles
from tests.memory.forgetting.graphs import grow, turns

TWIN = FakeHashEmbedder({"Event: cycle": "Event: bike", "Artifact: velo": "Event: bike"})


def pairs(graph, dedup=0.92):
    return [(graph.node(a).title, graph.node(b).title) for a, b in near_duplicates(graph, dedup)]


def test_a_node_is_found_again_by_its_title_or_by_its_vector_and_each_is_counted():
    graph = new_graph("improved")
    feed(graph, "t0", extraction([("Event", "bike")]), embedder=TWIN)
    feed(graph, "t1", extraction([("Event", "Bike"), ("Event", "cycle"), ("Event", "train")]), embedder=TWIN)
    assert titles(graph) == ["bike", "train"]
    assert (graph.found_by_title, graph.found_by_similarity) == (1, 1)
    assert pairs(graph) == []


def test_two_of_one_turn_are_left_where_a_turn_is_not_compared_with_itself():
    for within, left in ((False, [("bike", "cycle")]), (True, [])):
        graph = new_graph("published", dedup_within_turn=within)
        feed(graph, "t0", extraction([("Event", "bike"), ("Event", "cycle")]), embedder=TWIN)
        assert pairs(graph) == left
        assert graph.found_by_similarity == within


def test_nodes_of_two_labels_are_near_duplicates_only_where_merging_compares_labels():
    for within_label, left in ((True, []), (False, [("bike", "velo")])):
        graph = new_graph("published", dedup_within_label=within_label)
        feed(graph, "t0", extraction([("Event", "bike"), ("Artifact", "velo")]), embedder=TWIN)
        assert pairs(graph) == left


def test_what_is_forgotten_is_no_duplicate():
    graph = new_graph("published")
    feed(graph, "t0", extraction([("Event", "bike"), ("Event", "cycle"), ("Event", "train")]), embedder=TWIN)
    graph.remove_nodes([next(graph.nodes()).id])
    assert pairs(graph) == []


@pytest.mark.parametrize("comparison", ["above", "at_least"])
def test_the_threshold_itself_is_near_only_where_merging_says_so(comparison):
    graph = new_graph("published", comparison=comparison)
    vectors = np.zeros((2, DIMENSIONS), np.float32)
    vectors[0, 0] = vectors[1, 1] = 1
    for i, vector in enumerate(vectors):
        graph.add_node(
            f"n{i}", Moment("t", "s", None), ExtractedNode(key="k", label="Event", title=f"{i}"), vector
        )
    assert len(near_duplicates(graph, 0.0)) == (comparison == "at_least")


@budget(max_examples=20, deadline=None)
@given(said=turns(most=30), dedup=st.sampled_from([0.0, 0.1, 0.3, 0.92]), rows=st.sampled_from([1, 3, 256]))
def test_all_pairs_are_found_whatever_the_size_of_a_block(said, dedup, rows):
    graph = new_graph("published")
    grow(graph, said)
    nodes = list(graph.nodes())
    wide = graph.vectors.matrix.astype(np.float64)
    cosines = wide @ wide.T
    expected = {
        (a.id, b.id) for i, a in enumerate(nodes) for b in nodes[i + 1 :] if cosines[a.row, b.row] >= dedup
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("memory.duplicates._ROWS", rows)
        assert set(near_duplicates(graph, dedup)) == expected
