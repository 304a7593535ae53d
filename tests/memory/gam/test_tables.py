"""GAM's two layers as tables, and back."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import BadInput
from memory.gam.tables import NAMES
from memory.models import ChatRequest
from memory.systems.gam import Gam
from tests.memory.fake_models import MAY, FakeHashEmbedder, session
from tests.memory.gam.fakes import FakeBuilder, asking, heard, new_gam, starts_with

TEXTS = st.lists(st.lists(st.text(max_size=6), max_size=5), min_size=1, max_size=4)


def replying(data: st.DataObject) -> FakeBuilder:
    """A builder whose replies are any: shifts, causes, summaries, links."""

    def draw(request: ChatRequest) -> Any:
        ids = [turn[0] for turn in json.loads(request.inputs.get("turns", "[]"))]
        some = st.sampled_from(ids) if ids else st.nothing()
        pairs = st.lists(st.fixed_dictionaries({"cause": some, "effect": some}), max_size=3)
        links = st.fixed_dictionaries({"topic": st.sampled_from(["t1", "t2"]), "confidence": st.floats(0, 1)})
        return {
            "starts": data.draw(st.lists(some, max_size=3)) if ids else [],
            "summary": data.draw(st.sampled_from(["", "boats", "cakes", "\ud800"])),
            "causes": data.draw(pairs) if ids else [],
            "links": data.draw(st.lists(links, max_size=3)),
        }

    return FakeBuilder(gam_boundary=draw, gam_topic=draw, gam_links=draw)


@settings(max_examples=40)
@given(TEXTS, st.data())
def test_any_memory_comes_back_from_its_tables_to_the_bit(
    texts: list[list[str]], data: st.DataObject
) -> None:
    memory = new_gam(replying(data), FakeHashEmbedder(), "improved", link_threshold=0.2)
    for place, said in enumerate(texts):
        heard(memory, session(*said, position=place, date=MAY + timedelta(days=place)))
    tables = memory.tables()
    back = Gam.from_tables(tables, memory.settings, memory.models)
    assert back.tables() == tables
    assert back.recall(asking("boats?")) == memory.recall(asking("boats?"))
    assert back.size() == memory.size()


def built() -> Gam:
    builder = FakeBuilder(
        gam_boundary=starts_with("Now", "Then"),
        gam_topic={"summary": "s", "causes": [{"cause": "u1", "effect": "u2"}]},
        gam_links={"links": [{"topic": "t1", "confidence": 0.9}]},
    )
    return heard(new_gam(builder), session("a", "b", "Now", "c"), session("Then", position=1))


def test_the_tables_say_which_turn_is_of_which_topic_and_name_every_edge() -> None:
    tables = built().tables()
    assert tables["utterances"]["topic"].to_pylist() == [0, 0, 1, 1, None]
    edges = [tuple(row.values()) for row in tables["event_edges"].to_pylist()]
    assert edges == [
        ("h#0.0", "temporal", "h#0.1"), ("h#0.2", "temporal", "h#0.3"),
        ("h#0.0", "causal", "h#0.1"), ("h#0.2", "causal", "h#0.3"),
    ]  # fmt: skip
    assert tables["topic_links"].to_pylist() == [{"source": 0, "target": 1, "confidence": 0.9}]


def test_size_counts_both_layers_and_the_evidence_edges_between_them() -> None:
    size = built().size()
    assert (size.items, size.edges) == (5 + 2, 4 + 1 + 4)


def test_a_turn_is_held_as_its_line_and_in_its_topics_summary() -> None:
    memory = built()
    held = [memory.standing_on(utterance.held.turn) for utterance in memory.graph.utterances]
    assert held == [["a", "Topic: s"], ["b", "Topic: s"], ["Now", "Topic: s"], ["c", "Topic: s"], ["Then"]]
    bare = Gam.from_tables(
        memory.tables(), memory.settings.model_copy(update={"event_graph": False}), memory.models
    )
    assert bare.standing_on(memory.graph.utterances[0].held.turn) == ["Topic: s"]


def altered(name: str, column: str, *values: object) -> dict[str, pa.Table]:
    tables = built().tables()
    table = tables[name]
    place = table.schema.get_field_index(column)
    return {
        **tables,
        name: table.set_column(
            place, table.schema.field(place), pa.array(values, table.schema.field(place).type)
        ),
    }


@pytest.mark.parametrize(
    "broken",
    [
        *({other: table for other, table in built().tables().items() if other != name} for name in NAMES),
        altered("utterances", "topic", 0, 1, 0, 1, None),
        altered("utterances", "topic", 0, 0, 1, 1, 2),
        altered("utterances", "topic", 0, 0, 1, 1, 1) | {"topics": built().tables()["topics"].slice(0, 1)},
        altered("topics", "topic", 1, 0),
        altered("event_edges", "target", "x", "x", "x", "x"),
        altered("topic_links", "target", 7),
        altered("topic_links", "source", 1),
    ],
)
def test_tables_that_do_not_fit_are_refused_in_one_line(broken: dict[str, pa.Table]) -> None:
    memory = built()
    with pytest.raises(BadInput, match=r"^[^\n]+build it again$"):
        Gam.from_tables(broken, memory.settings, memory.models)
