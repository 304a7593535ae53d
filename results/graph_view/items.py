"""A graph of items and links, such as GAAMA's, as the nodes and edges that a picture is made of."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow.compute as pc

from results.report.sources import RunFolder

_ITEMS = ("history", "id", "kind", "text", "time", "origin", "sources")
_LINKS = ("history", "source", "type", "target")
LONGEST_TITLE = 80
"""Characters of an item's text that name it."""


def item_rows(run: RunFolder, graph: str, history: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The items of a history as nodes, a node's label being its kind, and its links as edges.

    Raises:
        TornTable: If a table is not whole.
    """
    items, links = (
        _of(run, f"graphs/{graph}/{name}", columns, history)
        for name, columns in (("items", _ITEMS), ("links", _LINKS))
    )
    degrees = Counter(end for link in links for end in {link["source"], link["target"]})
    sources = {item["id"]: item["sources"] for item in items}
    nodes = [_node(item, degrees[item["id"]]) for item in items]
    return nodes, [_edge(link, sources) for link in links]


def _of(run: RunFolder, name: str, columns: Sequence[str], history: str) -> list[dict[str, Any]]:
    table = run.table(name, columns)
    return [] if table is None else table.filter(pc.field("history") == history).to_pylist()


def _node(item: Mapping[str, Any], degree: int) -> dict[str, Any]:
    text = item["text"] or ""
    return {
        "history": item["history"],
        "id": item["id"],
        "label": item["kind"] if item["origin"] == "built" else f"{item['kind']}, {item['origin']}",
        "title": text if len(text) <= LONGEST_TITLE else f"{text[: LONGEST_TITLE - 1]}…",
        "content": text,
        "created_at": item["time"],
        "access_count": 0,
        "last_accessed_at": None,
        "degree": degree,
        "sources": item["sources"] or [],
    }


def _edge(link: Mapping[str, Any], sources: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """A link was made when the item that it comes from was: it stands on the same turns, or on those of the other."""
    ends = (sources.get(link[end]) or [] for end in ("source", "target"))
    return {
        "history": link["history"],
        "source": link["source"],
        "relationship": link["type"],
        "target": link["target"],
        "sources": next((found for found in ends if found), []),
    }
