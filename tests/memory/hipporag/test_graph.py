"""The weights of the graph, by hand, and its synonyms against a plain search."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.hipporag.graph import PhraseGraph
from memory.hipporag.located import LocatedVectors
from memory.hipporag.settings import HippoRAGSettings
from memory.hipporag.synonyms import Synonyms
from memory.hipporag.triples import Triple
from memory.models import Embedded
from tests.memory.hipporag.worlds import WrittenEmbedder

ALIKE = {"nyc": ("new york", 0.9), "ny": ("new york", 0.85)}


def graph_of(
    *passages: Sequence[Triple], alike: dict[str, tuple[str, float]] | None = None, **settings: object
) -> PhraseGraph:
    embedder = WrittenEmbedder({}, alike)
    graph = PhraseGraph(embedder.dimensions, HippoRAGSettings(**settings))
    phrases, facts = graph.unknown(triple for passage in passages for triple in passage)
    texts = [f"passage {number}" for number in range(len(passages))]
    graph.add(passages, embedder.embed([*texts, *phrases, *map(" ".join, facts)]))
    return graph


def weights(graph: PhraseGraph) -> dict[tuple[str, str], float]:
    """The weight between two phrases, by their names."""
    names = list(graph.phrases)
    dense = graph.between_phrases().toarray()
    assert (dense == dense.T).all()
    assert not dense.diagonal().any()
    pairs = zip(*np.nonzero(np.triu(dense)), strict=True)
    return {(names[a], names[b]): dense[a, b] for a, b in pairs}


MOVED = ("ilse", "moved to", "nyc")
LIKES = ("ilse", "likes", "nyc")
RUNS = ("new york", "is", "nyc")


def test_an_edge_weighs_one_for_each_passage_that_states_each_of_its_triples_in_either_direction() -> None:
    graph = graph_of([MOVED, LIKES], [MOVED], [("nyc", "has", "ilse")])
    assert weights(graph) == {("ilse", "nyc"): 4.0}


def test_a_passage_contains_a_phrase_once_however_often_its_triples_name_it() -> None:
    graph = graph_of([MOVED, LIKES], [], [LIKES])
    assert graph.contained().toarray().tolist() == [[1, 1], [0, 0], [1, 1]]


def test_a_triple_of_a_phrase_with_itself_contains_it_and_joins_nothing() -> None:
    graph = graph_of([("ilse", "is", "ilse")])
    assert weights(graph) == {}
    assert graph.contained().toarray().tolist() == [[1]]


def test_the_reference_counts_a_triple_twice_and_lets_a_synonym_take_the_place_of_triples() -> None:
    passages = [[MOVED], [RUNS], [RUNS, ("new york", "or", "nyc")]]
    reference = weights(graph_of(*passages, alike=ALIKE, edge_weights="reference"))
    assert reference == {("ilse", "nyc"): 2.0, ("nyc", "new york"): pytest.approx(2 * 0.9)}
    added = weights(graph_of(*passages, alike=ALIKE, edge_weights="added"))
    assert added == {("ilse", "nyc"): 1.0, ("nyc", "new york"): pytest.approx(3 + 0.9)}


def test_a_phrase_of_two_letters_looks_for_no_synonym_but_is_found() -> None:
    passages = [[("ilse", "moved to", "ny"), ("new york", "is", "far")]]
    added = weights(graph_of(*passages, alike=ALIKE, edge_weights="added"))
    assert added[("ny", "new york")] == pytest.approx(0.85)
    reference = weights(graph_of(*passages, alike=ALIKE, edge_weights="reference"))
    assert reference[("ny", "new york")] == pytest.approx(0.85), "one direction only"
    both_short = weights(
        graph_of([("ilse", "moved to", "ny"), ("la", "is", "far")], alike={"ny": ("la", 0.9)})
    )
    assert ("ny", "la") not in both_short


def test_a_phrase_keeps_its_nearest_synonyms_and_one_found_from_the_other_side_stays() -> None:
    alike = {"nyc": ("new york", 0.9), "new york city": ("new york", 0.95)}
    passages = [[("nyc", "is", "far"), ("new york", "is", "far"), ("new york city", "is", "far")]]
    found = weights(graph_of(*passages, alike=alike, synonyms=1))
    assert found[("new york", "new york city")] == pytest.approx(0.95)
    assert found[("nyc", "new york")] == pytest.approx(0.9), "nyc has found it, though new york kept another"
    assert ("nyc", "new york") not in weights(graph_of(*passages, alike=alike, synonyms=0))
    assert ("nyc", "new york") not in weights(graph_of(*passages, alike=alike, synonymy=0.92))


def test_a_phrase_without_a_vector_is_joined_by_its_triples_alone() -> None:
    graph = PhraseGraph(4, HippoRAGSettings())
    triples = [("ilse", "moved to", "nyc"), ("nyc", "is in", "america")]
    # Of the passage, then ilse, nyc and america, then the two facts.
    vectors = np.eye(4, dtype=np.float32)[[0, 1, 1, 0, 2, 3]]
    graph.add([triples], Embedded(vectors, {3: "refused"}))
    assert weights(graph) == {("ilse", "nyc"): 2.0, ("nyc", "america"): 1.0}
    assert graph.phrase_vectors.places.tolist() == [0, 1]


@given(
    st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3).filter(any), max_size=12),
    st.data(),
)
def test_synonyms_are_all_pairs_that_reach_the_threshold_however_phrases_came(
    rows: list[list[int]], data: st.DataObject
) -> None:
    vectors = np.array(rows, np.float64).reshape(-1, 3)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cuts = sorted({0, len(rows), *data.draw(st.sets(st.integers(0, len(rows))))})
    located, found = LocatedVectors(3), Synonyms(0.8)
    for start, end in pairwise(cuts):
        located.extend(start, Embedded(vectors[start:end].astype(np.float32)), range(end - start))
        found.extend(located, start)
    pairs = {(int(a), int(b)): cosine for (a, b), cosine in zip(found.pairs, found.cosines, strict=True)}
    kept = located.index.matrix.astype(np.float64)
    expected = {
        (a, b): kept[a] @ kept[b] for b in range(len(rows)) for a in range(b) if kept[a] @ kept[b] >= 0.8
    }
    assert pairs == pytest.approx(expected, abs=1e-12)
