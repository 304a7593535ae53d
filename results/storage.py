"""How many bytes a graph takes: in the paper's format, and as Parquet with vectors of fewer bits.

The paper measures pretty-printed JSON with the vectors inline (facts, sections 2 and 16). Its 17,096 bytes a node
are mostly the vector, one number a line. Parquet with float16 or int8 vectors saves more before anything is
forgotten than forgetting does; what it costs is measured as the share of exact neighbours kept, and as
similarities that change sides of a threshold.
"""

from __future__ import annotations

import hashlib
import io
import json
import uuid
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from memory.models import Vectors
from memory.tables import vectors_of
from memory.vectors import TOLERANCE

Precision = Literal["float32", "float16", "int8"]
NEIGHBOURS = 5
_BATCH = 2048
_COMPACT = json.JSONEncoder(separators=(",", ": "))
_SHORT = 1e-4
"""Below this, Python writes a number with an exponent and Arrow may not; a whole number ends in `.0` only there."""

_TEXT: pa.DataType = pa.string()
SCHEMA = pa.schema(
    {
        "format": _TEXT,  # paper_json | parquet_float32 | parquet_float16 | parquet_int8
        "nodes": pa.int64(),
        "edges": pa.int64(),
        "dimensions": pa.int32(),
        "bytes": pa.int64(),
        "bytes_per_node": pa.float64(),  # null for a graph without nodes
        "recall_at_5": pa.float64(),  # share of the exact five nearest kept; null where nothing was asked
        "queries": pa.int64(),
        "threshold": pa.float64(),
        "pairs_above": pa.int64(),  # of query and node, whose exact cosine reaches the threshold
        "pairs_changed": pa.int64(),  # that reach it with one of the two formats only
    }
)


@dataclass(frozen=True, slots=True)
class Kept:
    """What vectors of fewer bits keep of the exact search.

    Attributes:
        recall: Share of the five nearest found that belong to the exact five; one that ties with the fifth within
            `memory.vectors.TOLERANCE` belongs to them. NaN without queries.
        pairs_above: Pairs of query and node whose exact cosine reaches the threshold.
        pairs_changed: Pairs that reach it with only one of the two formats.
    """

    recall: float
    pairs_above: int
    pairs_changed: int


@dataclass(frozen=True, slots=True)
class StorageRow:
    """One format's size and what it keeps: a row of `SCHEMA`."""

    format: str
    nodes: int
    edges: int
    dimensions: int
    bytes: int
    bytes_per_node: float | None
    recall_at_5: float | None
    queries: int
    threshold: float
    pairs_above: int
    pairs_changed: int


def storage(
    tables: Mapping[str, pa.Table], threshold: float, *, queries: int = 200, seed: int = 0
) -> list[StorageRow]:
    """A graph's size in each format, and what each format's vectors keep.

    Args:
        tables: `nodes`, `edges`, `titles` and `turns`, as `memory.tables.to_tables` gives them.
        threshold: Cosine at which decisions are made, such as that of de-duplication.
        queries: How many nodes are drawn; each one's vector is asked for, its own row left out.
        seed: Of the draw.
    """
    matrix = vectors_of(tables["nodes"], _dimensions(tables["nodes"]))
    asked = np.random.default_rng(seed).permutation(len(matrix))[:queries]
    sizes: dict[str, tuple[Precision, int]] = {"paper_json": ("float32", paper_json_bytes(tables))}
    sizes |= {f"parquet_{p}": (p, parquet_bytes(tables, p)) for p in get_args(Precision)}
    rows = []
    for name, (precision, size) in sizes.items():
        kept = kept_by(matrix, precision, asked, threshold)
        rows.append(
            StorageRow(
                format=name,
                nodes=len(matrix),
                edges=tables["edges"].num_rows,
                dimensions=matrix.shape[1],
                bytes=size,
                bytes_per_node=size / len(matrix) if len(matrix) else None,
                recall_at_5=None if np.isnan(kept.recall) else kept.recall,
                queries=len(asked),
                threshold=threshold,
                pairs_above=kept.pairs_above,
                pairs_changed=kept.pairs_changed,
            )
        )
    return rows


def to_table(rows: Iterable[StorageRow]) -> pa.Table:
    """Rows as a table of `SCHEMA`."""
    return pa.Table.from_pylist([asdict(row) for row in rows], schema=SCHEMA)


def parquet_bytes(tables: Mapping[str, pa.Table], precision: Precision) -> int:
    """Bytes of the graph's tables as Parquet files, compressed as a run's are, with vectors of that precision."""
    total = 0
    for name, table in tables.items():
        sink = io.BytesIO()
        if name == "nodes":
            table = _with_vectors(table, precision)  # noqa: PLW2901
        lists = [f.name for f in table.schema if not pa.types.is_fixed_size_list(f.type)]
        pq.write_table(table, sink, compression="zstd", use_dictionary=lists)  # type: ignore[arg-type]
        total += sink.tell()
    return total


def kept_by(matrix: Vectors, precision: Precision, asked: npt.NDArray[np.intp], threshold: float) -> Kept:
    """Compare the search over rounded vectors with the exact one.

    Args:
        matrix: Unit rows, `(nodes, dimensions)`.
        precision: What the rows are rounded to; the queries too, for they are stored nodes.
        asked: Rows whose vectors are asked for; each leaves itself out.
        threshold: Cosine at which decisions are made.
    """
    if not len(asked) or len(matrix) < 2:
        return Kept(float("nan"), 0, 0)
    rounded = decoded(*encoded(matrix, precision))
    count = min(NEIGHBOURS, len(matrix) - 1)
    kept = above = changed = 0
    for start in range(0, len(asked), 64):
        rows = asked[start : start + 64]
        exact, other = (_others(vectors, rows) for vectors in (matrix, rounded))
        last = np.partition(exact, -count)[:, -count, None]
        found = np.argpartition(other, -count)[:, -count:]
        kept += int((np.take_along_axis(exact, found, axis=1) >= last - TOLERANCE).sum())
        above += int((exact >= threshold).sum())
        changed += int(((exact >= threshold) != (other >= threshold)).sum())
    return Kept(kept / (count * len(asked)), above, changed)


def encoded(matrix: Vectors, precision: Precision) -> tuple[npt.NDArray[Any], Vectors | None]:
    """Rows at a precision and, for int8, each row's scale: its largest magnitude is 127."""
    if precision != "int8":
        return matrix.astype(precision), None
    scale = np.abs(matrix).max(axis=1, initial=0.0) / np.float32(127)
    safe = np.where(scale > 0, scale, 1).astype(np.float32)
    return np.rint(matrix / safe[:, None]).astype(np.int8), safe


def decoded(rows: npt.NDArray[Any], scale: Vectors | None) -> Vectors:
    """Rows of `encoded` as float32 of unit length, as a graph would take them in; a zero row stays zero."""
    wide: Vectors = rows.astype(np.float32)
    if scale is not None:
        wide *= scale[:, None]
    norms = np.linalg.norm(wide, axis=1, keepdims=True)
    wide /= np.where(norms > 0, norms, 1)
    return wide


def paper_json_bytes(tables: Mapping[str, pa.Table]) -> int:
    """Bytes of the graph as the reference code writes it: one JSON object, indent 2, ASCII, vectors inline.

    The text is never held whole. What the format leaves free is chosen so: ids are UUIDs, as there; a number of a
    vector has the digits that tell a float32 from its neighbours, which is what Ollama sends and Python repeats
    (about eleven characters; all digits of the float64 would be about twenty); the score is the initial 1.0.
    """
    nodes = tables["nodes"]
    titles = {row["title"]: _uuid(row["node"]) for row in tables["titles"].to_pylist() if row["title"]}
    sections: dict[str, Iterator[int]] = {
        "nodes": (_entry(r["id"], r) for r in map(_node, _rows(nodes.drop_columns(["vector"])))),
        "edges": (_entry(r["id"], r) for r in map(_edge, _rows(tables["edges"]))),
        "vector_index": _vector_entries(nodes),
        "title_index": (_indented(title) + len(f'"{node}"') for title, node in titles.items()),
        "attribute_index": iter(()),
        "sessions": (_entry(r["id"], r) for r in map(_session, _rows(tables["turns"]))),
    }
    sizes = [
        4 + len(name) + 2 + _section(entries) for name, entries in sections.items()
    ]  # two blanks, two quotes
    return len("{\n") + sum(sizes) + len(",\n") * (len(sizes) - 1) + len("\n}")


def _section(entries: Iterator[int]) -> int:
    """Bytes of an object of those entries at depth one: `{`, entries parted by comma and line end, `}`."""
    size = count = 0
    for entry in entries:
        size, count = size + entry, count + 1
    return len("{\n") + size + len(",\n") * (count - 1) + len("\n  }") if count else len("{}")


def _entry(key: str, record: Mapping[str, Any]) -> int:
    """Bytes of a key and its record at depth two.

    The record's text is written compactly, which is many times faster, and the line ends and blanks are counted:
    each item of it stands on its own line, as does each attribute one level deeper.
    """
    blanks = _lines(len(record), 4) + _lines(len(record.get("attributes", ())), 6)
    return _indented(key) + len(_COMPACT.encode(record)) + blanks


def _lines(items: int, depth: int) -> int:
    """Line ends and blanks within an object that begins `depth` blanks in."""
    return items * (1 + depth + 2) + 1 + depth if items else 0


def _indented(key: str) -> int:
    return 4 + len(_COMPACT.encode(key)) + len(": ")


def _vector_entries(nodes: pa.Table) -> Iterator[int]:
    dimensions = _dimensions(nodes)
    around = _indented(_uuid("")) + len("[\n") + len("\n    ]")
    each = 6 * dimensions + len(",\n") * (dimensions - 1)
    for start in range(0, nodes.num_rows, _BATCH):
        rows = vectors_of(nodes.slice(start, _BATCH), dimensions)
        yield from (around + each + digits for digits in _digits(rows).tolist())


def _digits(rows: Vectors) -> npt.NDArray[np.int64]:
    """Characters of each row's numbers together, in the shortest form that tells a float32 from its neighbours."""
    flat = rows.reshape(-1)
    counted = pc.binary_length(pa.array(flat).cast(pa.string()))  # type: ignore[call-overload]
    lengths = counted.to_numpy().astype(np.int64)
    other = np.flatnonzero((np.abs(flat) < _SHORT) | (flat == np.trunc(flat)))
    lengths[other] = [len(repr(float(str(value)))) for value in flat[other]]
    return np.asarray(lengths.reshape(rows.shape).sum(axis=1), np.int64)


def _rows(table: pa.Table) -> Iterator[dict[str, Any]]:
    for batch in table.to_batches(max_chunksize=_BATCH):
        yield from batch.to_pylist()


def _node(row: Mapping[str, Any]) -> dict[str, Any]:
    accessed = row["turns_at_last_access"]
    return {
        "id": _uuid(row["id"]),
        "label": row["label"],
        "title": row["title"],
        "content": row["content"],
        "attributes": _standing(row["attributes"]),
        "created_at": _iso(row["created_at"]),
        "session_id": _uuid(row["session"]),
        "importance_score": 1.0,
        "access_count": row["access_count"],
        "last_accessed_at": _iso(row["last_accessed_at"]),
        "turns_at_creation": row["turns_at_creation"],
        "turns_at_last_access": None if accessed < 0 else accessed,
    }


def _edge(row: Mapping[str, Any]) -> dict[str, Any]:
    ends = json.dumps([row["source"], row["relationship"], row["target"]])
    return {
        "id": _uuid(ends),
        "source": _uuid(row["source"]),
        "relationship": row["relationship"],
        "target": _uuid(row["target"]),
        "attributes": _standing(row["attributes"]),
        "created_at": _iso(row["created_at"]),
        "session_id": _uuid(row["session"]),
    }


def _session(row: Mapping[str, Any]) -> dict[str, Any]:
    """The paper's code makes a session record for every turn (facts, section 2)."""
    return {"id": _uuid(row["turn"]), "created_at": _iso(row["time"]), "prompt_count": 1}


def _standing(versions: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """The value of each attribute that stands: that format keeps no history."""
    return {version["name"]: json.loads(version["value"]) for version in versions}


def _iso(time: datetime | None) -> str | None:
    return time.isoformat() if time else None


def _uuid(text: str) -> str:
    """A UUID for one of our ids, so that an id takes the bytes that it takes there."""
    return str(uuid.UUID(bytes=hashlib.sha256(text.encode()).digest()[:16]))


def _dimensions(nodes: pa.Table) -> int:
    return int(nodes.schema.field("vector").type.list_size)


def _with_vectors(nodes: pa.Table, precision: Precision) -> pa.Table:
    rows, scale = encoded(vectors_of(nodes, _dimensions(nodes)), precision)
    column = pa.FixedSizeListArray.from_arrays(pa.array(rows.reshape(-1)), rows.shape[1])
    table = nodes.drop_columns(["vector"]).append_column("vector", column)
    return table if scale is None else table.append_column("scale", pa.array(scale))


def _others(vectors: Vectors, rows: npt.NDArray[np.intp]) -> Vectors:
    """Cosines of some rows with all rows, each with itself left out."""
    scores: Vectors = vectors[rows] @ vectors.T
    scores[np.arange(len(rows)), rows] = -np.inf
    return scores
