"""Triples out of an extraction, whatever a model has written there."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.extraction import ExtractedEdge, ExtractedNode, Extraction
from memory.hipporag.triples import MOST_CHARACTERS, MOST_TRIPLES, normalised, triples_of
from tests.memory.fake_models import extraction


def said(*triples: tuple[str, str, str]) -> Extraction:
    titles = dict.fromkeys(end for subject, _, object_ in triples for end in (subject, object_))
    return extraction([("Concept", title) for title in titles], triples)


def test_an_edge_is_a_triple_of_its_titles_and_relation_in_lower_case() -> None:
    found = triples_of(said(("Ilse", "teaches_at", "Lakeside  School!")))
    assert found == [("ilse", "teaches at", "lakeside school")]


@pytest.mark.parametrize(
    ("written", "known"),
    [
        ("O'Neil & Sons", "o neil sons"),
        ("José", "josé"),
        ("東京", "東京"),
        ("  ", ""),
        ("?!", ""),
        ("_x_", "x"),
    ],
)
def test_a_phrase_is_its_words_in_any_script(written: str, known: str) -> None:
    assert normalised(written) == known


def test_triples_that_read_alike_are_one() -> None:
    found = triples_of(said(("Ilse", "has", "cat"), ("ilse", "Has", "Cat!"), ("cat", "has", "Ilse")))
    assert found == [("ilse", "has", "cat"), ("cat", "has", "ilse")]


@pytest.mark.parametrize(
    "triple",
    [
        ("", "has", "cat"),
        ("Ilse", " ", "cat"),
        ("Ilse", "has", "..."),
        ("Ilse", "has", "c" * (MOST_CHARACTERS + 1)),
        ("Ilse", "has " * MOST_CHARACTERS, "cat"),
    ],
)
def test_a_triple_with_an_empty_or_endless_part_is_passed_over(triple: tuple[str, str, str]) -> None:
    assert triples_of(said(triple, ("Ilse", "has", "hat"))) == [("ilse", "has", "hat")]


def test_an_edge_to_a_node_that_is_not_there_is_passed_over() -> None:
    node = ExtractedNode(key="a", label="Person", title="Ilse")
    edge = ExtractedEdge(source="a", target="b", relationship="has")
    assert triples_of(Extraction(nodes=(node,), edges=(edge,))) == []


def test_of_thousands_of_triples_the_first_are_read() -> None:
    found = triples_of(said(*(("Ilse", "has", f"thing {number}") for number in range(3_000))))
    assert [object_ for _, _, object_ in found] == [f"thing {number}" for number in range(MOST_TRIPLES)]


@given(st.lists(st.tuples(st.text(max_size=8), st.text(max_size=8), st.text(max_size=8)), max_size=6))
def test_every_triple_is_normal_and_distinct(triples: list[tuple[str, str, str]]) -> None:
    found = triples_of(said(*triples))
    assert len(set(found)) == len(found)
    assert all(part and part == normalised(part) for triple in found for part in triple)
