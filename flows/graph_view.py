"""`palimpsest show graph RUN HISTORY`: a memory graph, or what one question recalled from it, as a picture."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from flows.console import console
from memory.errors import BadInput
from results.graph_view.page import write_picture
from results.graph_view.picture import picture_of
from results.graph_view.stored import graphs
from results.report.sources import RunFolder

_STORE = "graph-store"
"""The condition that reads the one graph of a forgetting study; the run keeps that graph as `store`."""


def show_graph(
    folder: Path, history: str, question: str | None, condition: str | None, out: Path | None
) -> Path:
    """Write the picture and say where it lies.

    Args:
        folder: The run folder.
        history: The history whose memory is shown.
        question: To show only what this question recalled.
        condition: Whose graph; by default `graph`, or else the first one that has forgotten something.
        out: The file; by default one in the run folder.

    Raises:
        BadInput: If the run has no such graph, history or question, or what draws is not installed.
        TornTable: If a table is not whole.
    """
    run = RunFolder(folder)
    there = graphs(run)
    graph = _default(run, there) if condition is None else _graph_of(condition, there)
    if graph is None:
        raise BadInput(
            f"condition {condition!r} has no memory graph in this run; these have one: {', '.join(there)}"
        )
    recall = None if question is None else (question, _condition_of(run, graph, there, condition))
    picture = picture_of(run, history, graph, recall)
    path = write_picture(picture, out or folder / _file(graph, history, question))
    console.print(
        Text(f"graph: {path} ({len(picture.nodes):,} nodes, {len(picture.edges):,} edges)"), soft_wrap=True
    )
    return path


def _default(run: RunFolder, there: Sequence[str]) -> str:
    if "graph" in there:
        return "graph"
    forgetful = (name for name in there if (run.base / "graphs" / name / "archive_nodes.parquet").exists())
    return next(forgetful, there[0])


def _graph_of(condition: str, there: Sequence[str]) -> str | None:
    """The graph that a condition reads, by its name in the run folder; none if it reads none."""
    names = (condition, condition.removeprefix(f"{_STORE}-"), condition.removeprefix("graph-"))
    return next((name for name in names if name in there), None)


def _condition_of(run: RunFolder, graph: str, there: Sequence[str], condition: str | None) -> str:
    """The condition whose recalls read a graph."""
    table = run.table("recalls", ("condition",))
    names = set() if table is None else {str(name) for name in table["condition"].to_pylist()}
    if condition in names:
        return str(condition)
    readers = sorted(name for name in names if _graph_of(name, there) == graph)
    if not readers:
        raise BadInput(f"{run.folder}: no condition has recalled from the graph {graph!r}")
    return readers[0]


def _file(graph: str, history: str, question: str | None) -> str:
    """A name of its own for each picture; ids come from data and may hold anything, so they go in as a hash."""
    what = hashlib.sha256(repr((history, question)).encode("utf-8", "replace")).hexdigest()[:8]
    return f"graph-{graph}-{what}.html"
