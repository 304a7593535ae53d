from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import spearmanr

from memory.forgetting.states import States
from memory.profiles import GraphSettings
from memory.tables import to_tables
from tests.benchmarks import synthetic

NODES = 27_021


@pytest.fixture(scope="module")
def drawn() -> States:
    return synthetic.states(NODES, 4, seed=1)


def distance(values: np.ndarray, quantiles: list[float]) -> float:
    """Greatest gap between two distribution functions (Kolmogorov and Smirnov), half a count's width apart."""
    at = np.unique(np.asarray(quantiles)) + 0.5
    fitted = np.interp(at, quantiles, synthetic.GRID)
    return float(np.abs(np.searchsorted(np.sort(values), at) / len(values) - fitted).max())


@pytest.mark.parametrize(("column", "name"), [("degree", "degree"), ("access_count", "accesses")])
def test_counts_are_distributed_as_in_the_real_run(drawn, column, name):
    assert distance(getattr(drawn, column), synthetic.load_fit()[name]) < 0.02


def test_ages_are_distributed_as_in_the_real_run(drawn):
    days = (synthetic.NOON - drawn.created_at) / np.timedelta64(1, "D")
    assert distance(days, synthetic.load_fit()["age_days"]) < 0.02


def test_labels_have_their_shares(drawn):
    shares = np.bincount(drawn.label) / NODES
    assert shares == pytest.approx(list(synthetic.load_fit()["labels"].values()), abs=0.01)


def test_nodes_of_many_edges_are_accessed_more(drawn):
    assert spearmanr(drawn.degree, drawn.access_count).statistic > 0.2


def test_columns_agree_with_one_another(drawn):
    assert np.array_equal(np.bincount(drawn.edges.ravel(), minlength=NODES), drawn.degree)
    accessed = drawn.access_count > 0
    assert np.array_equal(accessed, ~np.isnat(drawn.last_accessed_at))
    assert np.array_equal(accessed, drawn.turns_at_last_access >= 0)
    assert (np.diff(drawn.created_at) >= np.timedelta64(0)).all()
    assert (drawn.turns_at_last_access[accessed] >= drawn.turns_at_creation[accessed]).all()
    assert np.linalg.norm(drawn.vectors, axis=1) == pytest.approx(1, abs=1e-5)


def test_equal_seeds_give_equal_columns_and_others_do_not(drawn):
    again, other = synthetic.states(NODES, 4, seed=1), synthetic.states(NODES, 4, seed=2)
    for name in States.__slots__:
        assert np.array_equal(
            getattr(again, name), getattr(drawn, name), equal_nan=name == "last_accessed_at"
        ), name
    assert not np.array_equal(other.degree, drawn.degree)


@pytest.mark.parametrize("count", [1, 2, 500])
def test_columns_become_a_graph_that_is_whole(count):
    drawn = synthetic.states(count, 8)
    graph = synthetic.graph(drawn, GraphSettings())
    graph.check()
    assert len(graph.edges()) == len(drawn.edges)
    assert np.array_equal(graph.columns["degree"], drawn.degree)
    assert np.array_equal(graph.columns["label"], drawn.label)


def test_a_graphs_tables_can_be_fitted_again(tmp_path):
    drawn = synthetic.states(3_000, 8)
    graph = synthetic.graph(drawn, GraphSettings())
    tables: dict[str, pa.Table] = to_tables(graph)
    for name in ("nodes", "edges"):
        pq.write_table(tables[name], tmp_path / f"{name}.parquet")
    fitted = synthetic.fit(tmp_path)
    assert (fitted["nodes"], fitted["edges"]) == (3_000, len(graph.edges()))
    assert distance(drawn.degree, fitted["degree"]) < 0.02
    assert synthetic.states(100, 4, fitted=fitted).degree.min() >= 0
