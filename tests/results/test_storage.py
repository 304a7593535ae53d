from __future__ import annotations

import json
import math
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from memory.extraction import ExtractedEdge, ExtractedNode, Extraction
from memory.graph import MemoryGraph, Moment
from memory.merge import merge_turn
from memory.profiles import GraphSettings
from memory.tables import EDGES, TITLES, TURNS, node_schema, to_tables, vector_column
from results import storage

NOON = datetime(2023, 5, 20, 12, tzinfo=UTC)
PAPER_NODES, PAPER_EDGES, PAPER_TURNS = 27_021, 46_538, 11_500


def units(rows: int, dimensions: int, seed: int = 0) -> np.ndarray:
    matrix = np.random.default_rng(seed).normal(size=(rows, dimensions)).astype(np.float32)
    return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)


def small_graph() -> dict[str, pa.Table]:
    graph = MemoryGraph(4, GraphSettings())
    nodes = (
        ExtractedNode(key="a", label="Person", title='Zoë "Z"', content="plays\n§", attributes={"age": 7}),
        ExtractedNode(key="b", label="Artifact", title="violin"),
    )
    edge = ExtractedEdge(source="a", target="b", relationship="plays", attributes={"since": "2020"})
    vectors = [np.array([1, 2e-5, 0, -0.25], np.float32), np.array([0, 1, 1e-9, 0.5], np.float32)]
    turn = Extraction(nodes=nodes, edges=(edge,))
    merge_turn(graph, Moment("h#0.0", "s", NOON), turn, vectors, 0.99)
    merge_turn(graph, Moment("h#0.1", "s", None), turn, vectors, 0.99)
    return to_tables(graph)


def whole_text(tables: dict[str, pa.Table]) -> str:
    """The same object as one Python value, written by the standard library: the reference of the streamed size."""
    nodes = {r["id"]: r for r in map(storage._node, tables["nodes"].to_pylist())}
    edges = {r["id"]: r for r in map(storage._edge, tables["edges"].to_pylist())}
    sessions = {r["id"]: r for r in map(storage._session, tables["turns"].to_pylist())}
    vectors = {
        storage._uuid(row["id"]): [float(str(np.float32(value))) for value in row["vector"]]
        for row in tables["nodes"].to_pylist()
    }
    titles = {r["title"]: storage._uuid(r["node"]) for r in tables["titles"].to_pylist()}
    graph = {"nodes": nodes, "edges": edges, "vector_index": vectors, "title_index": titles}
    return json.dumps({**graph, "attribute_index": {}, "sessions": sessions}, indent=2)


def paper_sized_graph() -> dict[str, pa.Table]:
    """Texts of ordinary length: a content of 120 characters, two attributes an edge."""
    rng = np.random.default_rng(0)
    times = [NOON + timedelta(hours=int(i) // 4) for i in range(PAPER_NODES)]
    nodes = {
        "id": [f"{i:024x}" for i in range(PAPER_NODES)],
        "label": ["Artifact"] * PAPER_NODES,
        "title": [f"a thing no {i:05d}" for i in range(PAPER_NODES)],
        "content": ["what it is, as an extractor tells it, its maker and its use; " * 2] * PAPER_NODES,
        "attributes": [[]] * PAPER_NODES,
        "created_at": times,
        "session": ["s"] * PAPER_NODES,
        "access_count": [0] * PAPER_NODES,
        "last_accessed_at": [None] * PAPER_NODES,
        "turns_at_creation": [i * PAPER_TURNS // PAPER_NODES for i in range(PAPER_NODES)],
        "turns_at_last_access": [-1] * PAPER_NODES,
        "degree": [0] * PAPER_NODES,
        "sources": [["h#0.0"]] * PAPER_NODES,
    }
    columns = [pa.array(v, node_schema(768).field(n).type) for n, v in nodes.items()]
    table = pa.Table.from_arrays([*columns, vector_column(units(PAPER_NODES, 768))], schema=node_schema(768))
    ends = rng.integers(0, PAPER_NODES, (PAPER_EDGES, 2))
    texts = {
        "detail": '"as it was said in the turn, word by word"',
        "date": '"2023-05-20"',
        "date_approximate": "false",
    }
    detail, *dated = [
        {"name": name, "value": value, "time": NOON, "turn": "h#0.0", "confidence": None}
        for name, value in texts.items()
    ]
    edges = {
        "source": [nodes["id"][i] for i in ends[:, 0]],
        "relationship": [f"owns {i:07d}" for i in range(PAPER_EDGES)],
        "target": [nodes["id"][i] for i in ends[:, 1]],
        "attributes": [[detail, *dated] if i % 2 else [detail] for i in range(PAPER_EDGES)],
        "created_at": [NOON] * PAPER_EDGES,
        "session": ["s"] * PAPER_EDGES,
        "sources": [["h#0.0"]] * PAPER_EDGES,
    }
    turns = {
        "turn": [f"h#{i}" for i in range(PAPER_TURNS)],
        "session": ["s"] * PAPER_TURNS,
        "time": [NOON] * PAPER_TURNS,
    }
    titles = {"label": nodes["label"], "title": nodes["title"], "node": nodes["id"]}
    return {
        "nodes": table,
        "edges": pa.table(edges, schema=EDGES),
        "titles": pa.table(titles, schema=TITLES),
        "turns": pa.table(turns, schema=TURNS),
    }


@pytest.fixture(scope="module")
def paper_sized() -> dict[str, pa.Table]:
    return paper_sized_graph()


def test_the_streamed_size_is_the_size_of_the_text_to_the_byte():
    tables = small_graph()
    assert storage.paper_json_bytes(tables) == len(whole_text(tables).encode())


def test_an_empty_graph_has_a_size_and_no_bytes_a_node():
    tables = to_tables(MemoryGraph(4, GraphSettings()))
    assert storage.paper_json_bytes(tables) == len(whole_text(tables).encode())
    rows = storage.storage(tables, 0.9)
    assert {row.bytes_per_node for row in rows} == {None}
    assert {row.recall_at_5 for row in rows} == {None}


@given(hnp.arrays(np.float32, (3, 8), elements=st.floats(-1, 1, width=32)))
def test_the_digits_of_a_vector_are_those_that_python_writes(rows: np.ndarray):
    written = [sum(len(json.dumps(float(str(value)))) for value in row) for row in rows]
    assert storage._digits(rows).tolist() == written


def test_a_graph_of_the_papers_size_takes_the_papers_bytes_a_node(paper_sized):
    """17,096 bytes a node (facts, section 16). Free are the lengths of texts and the number of attributes, which
    are not published (some 600 bytes a node), and the digits of the vectors: those of a float32 come to the paper's
    14.9 kB for a vector, all digits of a float64 would come to 21 kB.
    """
    size = storage.paper_json_bytes(paper_sized) / PAPER_NODES
    assert size == pytest.approx(17_096, rel=0.05)


def test_a_vector_of_768_floats_takes_87_percent_of_the_papers_bytes(paper_sized):
    digits = storage._digits(units(1000, 768)).mean()
    vector = digits + 6 * 768 + 2 * 767 + len("[\n") + len("\n    ]")
    assert vector == pytest.approx(14_900, rel=0.01)


@pytest.mark.parametrize("precision", ["float16", "int8"])
def test_parquet_takes_under_2000_bytes_a_node_at_equal_recall(paper_sized, precision):
    assert storage.parquet_bytes(paper_sized, precision) / PAPER_NODES < 2_000
    matrix = units(3_000, 768)
    kept = storage.kept_by(matrix, precision, np.arange(100), 0.1)
    assert kept.recall >= (0.999 if precision == "float16" else 0.97)
    assert kept.pairs_changed <= 0.03 * kept.pairs_above


def test_float32_keeps_everything_and_int8_can_change_a_decision():
    matrix = units(500, 16)
    asked = np.arange(50)
    exact = storage.kept_by(matrix, "float32", asked, 0.5)
    coarse = storage.kept_by(matrix, "int8", asked, 0.5)
    assert (exact.recall, exact.pairs_changed) == (1.0, 0)
    assert coarse.pairs_above == exact.pairs_above > 0
    assert 0 < coarse.recall < 1


def test_equal_vectors_are_equally_near_so_rounding_loses_none_of_them():
    matrix = np.repeat(units(5, 8), 20, axis=0)
    assert storage.kept_by(matrix, "int8", np.arange(100), 0.9).recall == 1.0


def test_int8_has_a_scale_for_each_vector_and_errs_by_half_a_step():
    matrix = np.array([[1.0, 0.5, -0.25], [0, 0, 0], [0.015, -0.02, 0]], np.float32)
    rows, scale = storage.encoded(matrix, "int8")
    assert rows.tolist() == [[127, 64, -32], [0, 0, 0], [95, -127, 0]]
    assert np.abs(rows * scale[:, None] - matrix).max() <= scale.max() / 2 + 1e-9


def test_fewer_bits_take_fewer_bytes_and_rows_fit_the_schema():
    graph = MemoryGraph(64, GraphSettings())
    for i, vector in enumerate(units(300, 64)):
        node = ExtractedNode(key="a", label="Concept", title=f"thing {i}")
        merge_turn(graph, Moment(f"h#0.{i}", "s", NOON), Extraction(nodes=(node,)), [vector], 1.0)
    rows = storage.storage(to_tables(graph), 0.3, queries=20)
    sizes = [row.bytes for row in rows]
    assert [row.format for row in rows] == [
        "paper_json",
        "parquet_float32",
        "parquet_float16",
        "parquet_int8",
    ]
    assert sizes == sorted(sizes, reverse=True)
    assert storage.storage(to_tables(graph), 0.3, queries=20) == rows
    table = storage.to_table(rows)
    assert table.schema == storage.SCHEMA
    assert not math.isnan(table["bytes_per_node"][0].as_py())
