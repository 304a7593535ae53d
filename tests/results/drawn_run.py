"""A small run folder with memory graphs: two histories, one graph each, and one store that both share."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from memory.tables import EDGES, node_schema
from results.schemas import QUESTIONS
from results.tables import from_rows, write
from tests.results.written_run import Asked, write_run

NOON = datetime(2024, 2, 1, 12, tzinfo=UTC)
QUESTION = Asked("q1", "single", "Where is the kite?", "in the shed", ["t1"], {
    "graph": ("in the shed", 1.0, 1.0, ["t1", "t0"]),
    "graph-store": ("in the shed", 1.0, 1.0, ["t1"]),
    "flat": ("in the shed", 1.0, 1.0, ["t1"]),
})  # fmt: skip
CONTEXT = "Nodes:\n[Person] Ann (a speaker)\n[Artifact] kite\nEdges:\nAnn --[owns]--> kite"
TURNS_SAID = {"t0": "Ann here", "t1": "my kite is in the shed", "t2": "a boat", "t3": "nothing"}


def node(
    name: str, label: str, title: str, sources: list[str], content: str = "", degree: int = 1
) -> dict[str, object]:
    return {
        "id": name, "label": label, "title": title, "content": content, "created_at": NOON, "session": "s",
        "access_count": 2, "degree": degree, "sources": sources, "vector": [0.0, 1.0],
    }  # fmt: skip


ANN = node("a", "Person", "Ann", ["t0", "t2"], "a speaker", degree=2)
KITE = node("k", "Artifact", "kite", ["t1"])
BOAT = node("b", "Artifact", "boat", ["t2"])
OWNS = {"source": "a", "relationship": "owns", "target": "k", "sources": ["t1"]}
SAILS = {"source": "a", "relationship": "sails", "target": "b", "sources": ["t2"]}


def write_drawn_run(folder: Path, *more: dict[str, object]) -> Path:
    """A run whose graph has Ann (t0), her kite (t1) and her boat (t2); `more` nodes besides.

    `graphs/store` has Ann and the kite, and one node of another history; it has forgotten the boat.
    """
    write_run(folder, TURNS_SAID, [QUESTION], context=CONTEXT)
    _ask_about(folder, "h")
    _graph(folder, "graph", "nodes", [ANN, KITE, BOAT, *more], "h")
    _graph(folder, "graph", "edges", [OWNS, SAILS], "h")
    _graph(folder, "store", "nodes", [ANN, KITE, node("z", "Concept", "elsewhere", ["u0"])])
    _graph(folder, "store", "edges", [OWNS])
    _graph(folder, "store", "archive_nodes", [BOAT])
    _graph(folder, "store", "archive_edges", [SAILS])
    scores = [
        {"arm": "store", "id": name, "score": score} for name, score in (("a", 0.9), ("k", 0.5), ("b", 0.1))
    ]
    write(folder / "forgetting.parquet", pa.Table.from_pylist(scores))
    return folder


def _graph(
    folder: Path, name: str, table: str, rows: list[dict[str, object]], history: str | None = None
) -> None:
    made = from_rows(rows, node_schema(2) if table.endswith("nodes") else EDGES)
    if history is not None:
        made = made.add_column(0, "history", pa.array([history] * len(rows), pa.string()))
    write(folder / "graphs" / name / f"{table}.parquet", made)


def _ask_about(folder: Path, history: str) -> None:
    """The question is asked of the history whose turns are written."""
    path = folder / "questions.parquet"
    rows = [{**row, "history": history} for row in pq.read_table(path).to_pylist()]
    write(path, from_rows(rows, QUESTIONS))
