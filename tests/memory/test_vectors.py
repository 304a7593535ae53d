import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.vectors import TOLERANCE, VectorIndex, reaches


def best(index, query, scores, allowed=slice(None)):
    rows = np.arange(len(index))
    return index.best(query, rows[allowed], scores[allowed])


def index_of(rows):
    index = VectorIndex(len(rows[0]))
    for row in rows:
        index.add(row)
    return index


@pytest.mark.parametrize(
    "bad", [[1.0, 2.0], [0.0, 0.0, 0.0], [1.0, np.nan, 0.0], [np.inf, 0.0, 0.0], [[1.0, 0, 0]]]
)
def test_a_vector_of_wrong_length_zero_or_not_finite_is_refused_and_changes_nothing(bad):
    index = index_of([[1.0, 0.0, 0.0]])
    with pytest.raises(ValueError):
        index.add(bad)
    assert len(index) == 1


def test_vectors_are_scaled_to_unit_length_and_unit_vectors_keep_their_bits():
    unit = np.array([0.6, 0.8], np.float32)
    index = index_of([[3.0, 4.0], unit])
    assert np.allclose(index.matrix[0], [0.6, 0.8])
    assert (index.matrix[1] == unit).all()


def test_the_best_of_equal_rows_is_the_earliest():
    index = index_of([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0]])
    query = index.unit([1.0, 0.0])
    assert best(index, query, index.similarities(query[None])[0]) == (1, 1.0)


def test_removed_rows_are_never_found():
    index = index_of([[1.0, 0.0], [0.0, 1.0]])
    index.remove([0])
    query = index.unit([1.0, 0.0])
    assert best(index, query, index.similarities(query[None])[0]) == (1, 0.0)
    rows, _ = index.nearest(query, 5)
    assert rows.tolist() == [1]
    assert index.compact().tolist() == [1]
    index.remove([0])
    assert best(index, query, index.similarities(query[None])[0]) is None


@pytest.mark.parametrize(("dimensions", "rows"), [(16, 300), (768, 300), (3072, 70), (200_000, 3)])
def test_every_query_is_compared_with_every_row_however_long_vectors_are(dimensions, rows):
    random = np.random.default_rng(0)
    index = VectorIndex(dimensions)
    for vector in random.normal(size=(rows, dimensions)):
        index.add(vector)
    queries = np.stack([index.unit(query) for query in random.normal(size=(11, dimensions))])
    expected = queries.astype(float) @ index.matrix.astype(float).T
    assert np.abs(index.similarities(queries) - expected).max() < TOLERANCE
    assert np.abs(index.similarities(queries, first=2) - expected[:, 2:]).max() < TOLERANCE


def test_a_row_that_may_not_win_does_not():
    index = index_of([[1.0, 0.0], [0.8, 0.6]])
    query = index.unit([1.0, 0.0])
    found = best(index, query, index.similarities(query[None])[0], np.array([False, True]))
    assert found and found[0] == 1


def test_at_the_threshold_the_code_says_yes_and_the_paper_says_no():
    assert reaches(0.92, 0.92, strict=False)
    assert not reaches(0.92, 0.92, strict=True)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.sampled_from([3, 16, 384, 768]), st.integers(0, 2**32 - 1))
def test_the_exact_cosine_of_a_row_does_not_depend_on_the_rows_beside_it(rows, dimensions, seed):
    random = np.random.default_rng(seed)
    index = index_of(random.normal(size=(rows, dimensions)))
    query = index.unit(random.normal(size=dimensions))
    together = index.exact(np.arange(rows), query)
    assert all(index.exact([row], query)[0] == together[row] for row in range(rows))


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 40))
def test_the_winner_does_not_depend_on_how_many_queries_are_asked_at_once(seed, many):
    random = np.random.default_rng(seed)
    base = random.normal(size=(30, 64))
    index = index_of(np.concatenate([base, base + 1e-7 * random.normal(size=base.shape)]))
    queries = np.stack([index.unit(v) for v in base[random.integers(0, 30, many)] + 1e-3])
    together = index.similarities(queries)
    for query, scores in zip(queries, together, strict=True):
        assert best(index, query, scores) == best(index, query, index.similarities(query[None])[0])
