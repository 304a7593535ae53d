"""GAAMA's graph and waiting events as tables, and back."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.conversation import Observation
from memory.errors import BadInput
from memory.gaama.chunks import Event
from memory.gaama.graph import ConceptGraph, Item
from memory.gaama.tables import ITEMS, LINKS, graph_of, graph_tables, waiting_of, waiting_table
from tests.memory.fake_models import MAY, FakeHashEmbedder

KINDS = ("episode", "fact", "concept", "reflection")
TYPES = ("NEXT", "DERIVED_FROM", "HAS_CONCEPT", "ABOUT_CONCEPT", "DERIVED_FROM_FACT")


@st.composite
def graphs(draw):
    """A graph of any kinds and edges, of which some items were taken out again."""
    graph = ConceptGraph(16)
    texts = draw(st.lists(st.text(max_size=8), min_size=1, max_size=8, unique=True))
    for place, text in enumerate(texts):
        kind = draw(st.sampled_from(KINDS))
        episode = {"turn": f"t{place}", "session": "s", "time": MAY} if kind == "episode" else {}
        sequence = draw(st.one_of(st.none(), st.integers(1, 9)))
        item = Item(f"id{place}", -1, kind, text, sequence, belief=draw(st.floats(0, 1)), **episode)
        graph.add(item, FakeHashEmbedder().vector(f"{place}"))
    item = st.sampled_from(list(graph.items))
    for type, source, target in draw(st.lists(st.tuples(st.sampled_from(TYPES), item, item), max_size=12)):
        graph.join(type, source, target)
    for id in draw(st.sets(item, max_size=2)):
        graph.remove(id)
    return graph


def edges(graph):
    found = sorted(graph.topology.edges(data=True), key=lambda edge: edge[2]["order"])
    return [(source, data["type"], target) for source, target, data in found]


@settings(max_examples=40)
@given(graphs())
def test_a_graph_comes_back_from_its_tables(graph):
    tables = graph_tables(graph)
    back = graph_of(tables, 16)
    assert edges(back) == edges(graph)
    assert list(back.items) == list(graph.items)
    for id, item in graph.items.items():
        other = back.items[id]
        assert (other.kind, other.text, other.sequence, other.turn, other.session, other.time) == (
            item.kind, item.text, item.sequence, item.turn, item.session, item.time,
        )  # fmt: skip
        assert (other.belief, other.origin, back.turns_of(other)) == (
            item.belief,
            item.origin,
            graph.turns_of(item),
        )
        assert back.vectors.matrix[other.row].tobytes() == graph.vectors.matrix[item.row].tobytes()
    again = graph_tables(back)
    assert all(again[name].equals(tables[name], check_metadata=True) for name in tables)


def test_a_node_says_the_turns_that_it_stands_on():
    graph = ConceptGraph(16)
    vector = FakeHashEmbedder().vector("x")
    graph.add(Item("e", -1, "episode", "said", 1, turn="h#0.0"), vector)
    for id, kind in (("f", "fact"), ("c", "concept"), ("r", "reflection")):
        graph.add(Item(id, -1, kind, id, 2), vector)
    graph.join("DERIVED_FROM", "f", "e")
    graph.join("HAS_CONCEPT", "e", "c")
    graph.join("DERIVED_FROM_FACT", "r", "f")
    assert graph_tables(graph)["items"].column("sources").to_pylist() == [["h#0.0"]] * 4


def test_an_empty_graph_has_the_columns_of_a_full_one():
    tables = graph_tables(ConceptGraph(16))
    assert tables["items"].schema.names == [*ITEMS.names, "vector"] and tables["links"].schema == LINKS
    assert len(graph_of(tables, 16)) == 0


def fitting():
    graph = ConceptGraph(16)
    for id in ("a", "b"):
        graph.add(Item(id, -1, "fact", id, 1), FakeHashEmbedder().vector(id))
    graph.join("ABOUT_CONCEPT", "a", "b")
    return graph_tables(graph)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda tables: {**tables, "items": tables["items"].slice(1)},
        lambda tables: {"items": tables["items"]},
        lambda tables: {**tables, "items": tables["items"].drop_columns(["vector"])},
        lambda tables: {**tables, "links": tables["links"].drop_columns(["target"])},
        lambda tables: {**tables, "links": pa.table({"source": ["a"], "type": ["LIKES"], "target": ["b"]})},
    ],
)
def test_tables_that_do_not_fit_one_another_are_refused_in_one_line(spoil):
    with pytest.raises(BadInput, match=r"^[^\n]+build it again$"):
        graph_of(spoil(fitting()), 16)


def test_vectors_of_another_length_are_refused():
    with pytest.raises(BadInput, match="build it again"):
        graph_of(fitting(), 8)


def test_events_that_wait_come_back_with_what_was_observed_of_them():
    waiting = [Event("t0", "s", MAY, "Ann", "hi", True), Event("t1", "s", None, "Bob", "ho", False)]
    observed = {"t1": [Observation("Bob greets.", ("t0", "t1")), Observation("Bob is here.", ("t1",))]}
    assert waiting_of(waiting_table(waiting, observed)) == (waiting, observed)
    assert waiting_of(waiting_table([], {})) == ([], {})
