from __future__ import annotations

import builtins

import numpy as np
import pytest

from memory.ann import ApproximateIndex
from memory.errors import BadInput
from memory.vectors import VectorIndex

pytest.importorskip("usearch", reason="an approximate index needs the extra ann")


def rows(count: int, seed: int = 0) -> np.ndarray:
    """Rows in clusters, as descriptors are."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, 16))
    found = centres[rng.integers(0, 20, count)] + 0.3 * rng.normal(size=(count, 16))
    return (found / np.linalg.norm(found, axis=1, keepdims=True)).astype(np.float32)


def filled(count: int = 600) -> tuple[ApproximateIndex, VectorIndex]:
    approximate, exact = ApproximateIndex(16), VectorIndex(16)
    for row in rows(count):
        assert approximate.add(row) == exact.add(row)
    return approximate, exact


def test_it_finds_nearly_all_that_the_exact_search_finds_with_the_same_cosines():
    approximate, exact = filled()
    shared = 0
    for query in rows(50, seed=1):
        ours, values = approximate.nearest(query, 10)
        theirs, _ = exact.nearest(query, 10)
        assert np.array_equal(values, exact.exact(ours, query))
        shared += len(np.intersect1d(ours, theirs))
    assert shared >= 0.97 * 500


def test_equal_rows_in_equal_order_give_equal_answers():
    first, second = filled()[0], filled()[0]
    for query in rows(30, seed=2):
        assert np.array_equal(first.nearest(query, 5)[0], second.nearest(query, 5)[0])


def test_a_removed_row_is_not_found():
    approximate, _ = filled(100)
    query = rows(100)[7]
    assert approximate.nearest(query, 1)[0].tolist() == [7]
    approximate.remove([7])
    assert 7 not in approximate.nearest(query, 99)[0]


def test_an_empty_index_finds_nothing():
    assert len(ApproximateIndex(16).nearest(rows(1)[0], 5)[0]) == 0


def test_equal_vectors_go_to_the_earliest_row():
    approximate = ApproximateIndex(16)
    vector = rows(1)[0]
    for _ in range(5):
        approximate.add(vector)
    assert approximate.nearest(vector, 3)[0].tolist() == [0, 1, 2]


def test_without_usearch_the_error_names_the_extra(monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name.startswith("usearch"):
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(BadInput, match=r"palimpsest\[ann\]"):
        ApproximateIndex(4)
