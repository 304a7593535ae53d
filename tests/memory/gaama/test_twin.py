"""The twin of entities by hand: what it keeps of the graph of concepts, its hubs, and what diffusion leaves on them."""

from __future__ import annotations

import numpy as np
import pytest

from memory.gaama.graph import ConceptGraph
from memory.gaama.twin import entities_of, entity_twin, hubs, mass_on_hubs, top_count
from tests.memory.gaama.fakes import Placed, edges

NAMES = ("Ann", "kayak", "lake")
VECTORS = {name.lower(): np.array([0.0, 1.0], np.float32) for name in NAMES}


def named(text: str) -> list[str]:
    return [name for name in NAMES if name.lower() in text.lower()]


@pytest.fixture
def graph() -> ConceptGraph:
    """Two episodes, two facts on them, a concept for each fact, and a reflection."""
    made = Placed()
    for text in ("Ann: my kayak", "Ann: the lake"):
        made.add("episode", text, 0.5)
    boat, water = (made.add("fact", text, 0.5) for text in ("Ann owns a kayak", "Ann swims in a lake"))
    owning, swimming = (made.add("concept", text, 0.5) for text in ("boat_owning", "lake_swimming"))
    drawn = made.add("reflection", "Ann likes water", 0.5)
    own = made.graph
    own.join("NEXT", "Ann: my kayak", "Ann: the lake")
    own.join("DERIVED_FROM", boat, "Ann: my kayak")
    own.join("DERIVED_FROM", water, "Ann: the lake")
    own.join("HAS_CONCEPT", "Ann: my kayak", owning)
    own.join("ABOUT_CONCEPT", boat, owning)
    own.join("ABOUT_CONCEPT", water, swimming)
    own.join("DERIVED_FROM_FACT", drawn, boat)
    return own


def twin_of(graph: ConceptGraph, **vectors: np.ndarray) -> ConceptGraph:
    return entity_twin(graph, entities_of(graph, named), VECTORS | vectors)


def test_an_entity_is_mentioned_by_episodes_and_facts_once_each_whatever_its_case(
    graph: ConceptGraph,
) -> None:
    mentioned = entities_of(graph, lambda text: [*named(text), *(name.upper() for name in named(text)), " "])
    texts = {name: [graph.items[id].text for id in ids] for name, ids in mentioned.items()}
    assert texts == {
        "ann": ["Ann: my kayak", "Ann: the lake", "Ann owns a kayak", "Ann swims in a lake"],
        "kayak": ["Ann: my kayak", "Ann owns a kayak"],
        "lake": ["Ann: the lake", "Ann swims in a lake"],
    }


def test_the_twin_keeps_all_but_the_concepts_and_joins_mentions_by_the_same_types(
    graph: ConceptGraph,
) -> None:
    before = edges(graph)
    twin = twin_of(graph)
    assert edges(twin) == [
        ("NEXT", "Ann: my kayak", "Ann: the lake"),
        ("DERIVED_FROM", "Ann owns a kayak", "Ann: my kayak"),
        ("DERIVED_FROM", "Ann swims in a lake", "Ann: the lake"),
        ("DERIVED_FROM_FACT", "Ann likes water", "Ann owns a kayak"),
        ("HAS_CONCEPT", "Ann: my kayak", "ann"),
        ("HAS_CONCEPT", "Ann: the lake", "ann"),
        ("ABOUT_CONCEPT", "Ann owns a kayak", "ann"),
        ("ABOUT_CONCEPT", "Ann swims in a lake", "ann"),
        ("HAS_CONCEPT", "Ann: my kayak", "kayak"),
        ("ABOUT_CONCEPT", "Ann owns a kayak", "kayak"),
        ("HAS_CONCEPT", "Ann: the lake", "lake"),
        ("ABOUT_CONCEPT", "Ann swims in a lake", "lake"),
    ]
    assert [item.text for item in twin.of_kind("concept")] == ["ann", "kayak", "lake"]
    for kind in ("episode", "fact", "reflection"):
        ours, theirs = (list(of.of_kind(kind)) for of in (graph, twin))  # type: ignore[arg-type]
        assert [(item.id, item.text, item.sequence, item.turn) for item in ours] == [
            (item.id, item.text, item.sequence, item.turn) for item in theirs
        ]
        for own, other in zip(ours, theirs, strict=True):
            assert np.array_equal(graph.vectors.matrix[own.row], twin.vectors.matrix[other.row])
    assert edges(graph) == before


def test_an_entity_without_a_vector_is_left_out(graph: ConceptGraph) -> None:
    mentioned = entities_of(graph, named)
    twin = entity_twin(graph, mentioned, {"kayak": VECTORS["kayak"]})
    assert [item.text for item in twin.of_kind("concept")] == ["kayak"]


def test_hubs_by_hand(graph: ConceptGraph) -> None:
    """Neighbours: episodes 3 and 2, facts 3 and 2, concepts 2 and 1, reflection 1; the twin's Ann has 4."""
    found = hubs(graph)
    assert (found.items, found.mediators, found.degree_median, found.degree_max) == (7, 2, 1.5, 2)
    assert found.degree_p99 == pytest.approx(1.99)
    assert found.top_share == pytest.approx(3 / 14)
    twin = hubs(twin_of(graph))
    assert (twin.items, twin.mediators, twin.degree_median, twin.degree_max) == (8, 3, 2.0, 4)
    assert twin.degree_p99 == pytest.approx(3.96)


def test_a_graph_without_mediators_or_edges_has_no_hubs() -> None:
    made = Placed()
    made.add("fact", "alone", 0.5)
    found = hubs(made.graph)
    assert (found.mediators, found.degree_max, found.top_share) == (0, 0, 0.0)


def test_the_top_of_a_graph_is_one_in_a_hundred_and_at_least_one() -> None:
    assert [top_count(items) for items in (1, 99, 100, 199, 200)] == [1, 1, 1, 1, 2]


def test_the_mass_on_hubs_is_that_of_the_item_with_the_most_neighbours(graph: ConceptGraph) -> None:
    twin = entity_twin(graph, entities_of(graph, named), {"ann": VECTORS["ann"]})
    [hub] = twin.of_kind("concept")
    mass = np.full(len(twin.vectors), 0.5)
    mass[hub.row] = 1.5
    assert mass_on_hubs(twin, mass) == pytest.approx(1.5 / (0.5 * 5 + 1.5))
    assert mass_on_hubs(twin, np.zeros(len(twin.vectors))) == 0.0
