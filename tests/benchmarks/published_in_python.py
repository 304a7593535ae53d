"""The published graph memory in plain Python, written from its description, for the core to be measured against.

It does what the published code does and as that does it: dictionaries of nodes and edges, a title index, one cosine
after another with both norms in each, the table of edges and the turn counter made anew for every turn, adjacency made
anew for every question, and the whole graph saved as indented JSON. In one thing it is kinder than the code, which
turns a stored list of floats into an array for every comparison: a stored vector may stay a NumPy array here, so that
what is compared is the algorithm and not the list (`store=list` is the code's way). Dates in `raw_date` are not
resolved.
"""

from __future__ import annotations

import json
import uuid
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np

from memory.attributes import current
from memory.extraction import ExtractedNode, Extraction
from memory.graph import MemoryGraph, in_utc
from memory.merge import USER_CONTENT
from memory.models import Vectors
from memory.validation import QueryEntity

DEDUP, FLOOR, ROOTS, HOPS, MAX_NODES = 0.92, 0.75, 5, 2, 15
Record = dict[str, Any]


@dataclass
class PublishedMemory:
    """The graph as the published code holds it: one object of JSON."""

    store: Callable[[Any], Any] = np.asarray
    """What a stored vector is kept as: `np.asarray` or, as in the code, `list`."""
    nodes: dict[str, Record] = field(default_factory=dict)
    edges: dict[str, Record] = field(default_factory=dict)
    vector_index: dict[str, Any] = field(default_factory=dict)
    title_index: dict[str, str] = field(default_factory=dict)
    sessions: dict[str, Record] = field(default_factory=dict)

    @property
    def turns(self) -> int:
        """The turn counter: the prompts of all sessions, and every turn is a session of its own."""
        return sum(session["prompt_count"] for session in self.sessions.values())

    def merge(
        self, session: str, time: datetime | None, extraction: Extraction, vectors: Sequence[Vectors]
    ) -> None:
        """Merge a turn: all its nodes are looked for before one is written."""
        turn = str(uuid.uuid4())
        self.sessions[turn] = {"id": turn, "created_at": time, "prompt_count": 0}
        wide = [np.asarray(vector, float) for vector in vectors]
        found = [self._match(node, vector) for node, vector in zip(extraction.nodes, wide, strict=True)]
        self._touch({id for id in found if id}, time)
        ids = {}
        for node, id, vector in zip(extraction.nodes, found, wide, strict=True):
            ids[node.key] = id or self._new_node(node, vector, session, time)
            held = self.nodes[ids[node.key]]
            held["attributes"].update(node.attributes)
            held["content"] = held["content"] or node.content
        self._merge_edges(extraction, ids, session, time)
        self.sessions[turn]["prompt_count"] += 1

    def nearest(self, vector: Vectors) -> tuple[str | None, float]:
        """The stored node that is most similar to a vector, the first of equals, and its cosine."""
        best, best_cosine = None, -1.0
        for id, stored in self.vector_index.items():
            if (value := cosine(vector, stored)) > best_cosine:
                best, best_cosine = id, value
        return best, best_cosine

    def roots(self, entities: Sequence[QueryEntity], queries: Sequence[Vectors]) -> list[tuple[str, float]]:
        """The nodes that a question starts from with their scores, best first, people last."""
        hits = [self.title_index.get(entity.title.lower().strip()) for entity in entities]
        scores = {id: 1.0 for id in hits if id}
        for query in queries:
            for id, stored in self.vector_index.items():
                value = cosine(query, stored)
                if value >= FLOOR and value > scores.get(id, 0.0):
                    scores[id] = value
        ranked = sorted(scores, key=lambda id: -scores[id])
        ranked.sort(key=lambda id: id in self.nodes and self.nodes[id]["label"] == "Person")
        return [(id, scores[id]) for id in ranked[:ROOTS]]

    def walk(self, roots: Sequence[tuple[str, float]]) -> tuple[list[str], list[str]]:
        """The nodes within two hops, breadth first and fifteen at most, and all edges of those that were expanded."""
        adjacency: dict[str, list[str]] = {id: [] for id in self.nodes}
        for number, edge in self.edges.items():
            for end in dict.fromkeys((edge["source"], edge["target"])):
                adjacency[end].append(number)
        depth = {id: 0 for id, _ in roots if id in self.nodes}
        walked: dict[str, None] = {}
        waiting = deque(depth)
        while waiting and len(depth) < MAX_NODES:
            here = waiting.popleft()
            if depth[here] >= HOPS:
                continue
            for number in adjacency[here]:
                walked[number] = None
                for end in (self.edges[number]["source"], self.edges[number]["target"]):
                    if end not in depth and len(depth) < MAX_NODES:
                        depth[end] = depth[here] + 1
                        waiting.append(end)
        return list(depth), list(walked)

    def touch_recalled(self, nodes: Sequence[str], time: datetime | None) -> None:
        """What was recalled counts as accessed at the question's date."""
        self._touch(set(nodes), time)

    def context(self, nodes: Sequence[str], edges: Sequence[str]) -> str:
        """The subgraph as the answering model reads it."""
        if not nodes:
            return ""
        lines = ["Nodes:", *(self._node_line(self.nodes[id]) for id in nodes)]
        return "\n".join([*lines, "Edges:", *(self._edge_line(self.edges[id]) for id in edges)])

    def save(self, path: Path) -> None:
        """Write the whole graph as JSON with an indent of two, beside its place and then there."""
        beside = path.with_suffix(".tmp")
        whole = {
            "nodes": self.nodes,
            "edges": self.edges,
            "vector_index": {id: list(vector) for id, vector in self.vector_index.items()},
            "title_index": self.title_index,
            "attribute_index": {},
            "sessions": self.sessions,
        }
        with beside.open("w") as file:
            json.dump(whole, file, indent=2, default=datetime.isoformat)
        beside.replace(path)

    def _match(self, node: ExtractedNode, vector: Vectors) -> str | None:
        owner = self.title_index.get(node.title.lower().strip())
        if owner and owner in self.nodes and self.nodes[owner]["label"] == node.label:
            return owner
        id, best = self.nearest(vector)
        return id if best >= DEDUP else None

    def _new_node(self, node: ExtractedNode, vector: Vectors, session: str, time: datetime | None) -> str:
        id = str(uuid.uuid4())
        is_user = node.label == "Person" and node.title.lower() == "user"
        self.nodes[id] = {
            "id": id,
            "label": node.label,
            "title": node.title,
            "content": USER_CONTENT if is_user else node.content,
            "attributes": {},
            "created_at": time,
            "session_id": session,
            "importance_score": 1.0,
            "access_count": 0,
            "last_accessed_at": None,
            "turns_at_creation": self.turns,
            "turns_at_last_access": None,
        }
        self.vector_index[id] = self.store(vector)
        if title := node.title.lower().strip():
            self.title_index[title] = id
        return id

    def _merge_edges(
        self, extraction: Extraction, ids: dict[str, str], session: str, time: datetime | None
    ) -> None:
        known = {(e["source"], e["relationship"], e["target"]): id for id, e in self.edges.items()}
        for edge in extraction.edges:
            if edge.source not in ids or edge.target not in ids:
                continue
            key = (ids[edge.source], edge.relationship, ids[edge.target])
            if key not in known:
                known[key] = str(uuid.uuid4())
                self.edges[known[key]] = {
                    "id": known[key],
                    "source": key[0],
                    "relationship": key[1],
                    "target": key[2],
                    "attributes": {},
                    "created_at": time,
                    "session_id": session,
                }
            self.edges[known[key]]["attributes"].update(edge.attributes)

    def _touch(self, ids: set[str], time: datetime | None) -> None:
        turns = self.turns
        for id in ids:
            node = self.nodes[id]
            node["access_count"] += 1
            node["last_accessed_at"], node["turns_at_last_access"] = time, turns

    def _node_line(self, node: Record) -> str:
        content = f" ({node['content']})" if node["content"] else ""
        return f"[{node['label']}] {node['title']}{content}{_braces(node['attributes'])}"

    def _edge_line(self, edge: Record) -> str:
        arrow = f"{edge['relationship']}{_braces(edge['attributes'])}"
        return f"{self._title(edge['source'])} --[{arrow}]--> {self._title(edge['target'])}"

    def _title(self, id: str) -> str:
        return str(self.nodes[id]["title"]) if id in self.nodes else id


def cosine(a: Vectors, b: Any) -> float:
    """Cosine of two vectors, whatever the second is stored as; 0 where one has no length."""
    stored = np.asarray(b, float)
    norms = float(np.linalg.norm(a) * np.linalg.norm(stored))
    return float(np.dot(a, stored)) / norms if norms else 0.0


def load(path: Path) -> PublishedMemory:
    """The graph that was saved, its vectors as lists and its times as text."""
    whole = json.loads(path.read_text())
    del whole["attribute_index"]
    return PublishedMemory(store=list, **whole)


def copy_of(graph: MemoryGraph, store: Callable[[Any], Any] = np.asarray) -> PublishedMemory:
    """The same memory in the published shape, under the same ids."""
    made = PublishedMemory(store)
    for node in graph.nodes():
        made.nodes[node.id] = _record(graph, node.id)
        made.vector_index[node.id] = store(graph.vectors.matrix[node.row].astype(float))
    for edge in graph.edges():
        made.edges[str(edge.order)] = {
            "source": edge.source,
            "relationship": edge.relationship,
            "target": edge.target,
            "id": str(edge.order),
            "created_at": edge.created_at,
            "session_id": edge.session,
            "attributes": current(edge.attributes),
        }
    made.title_index = {title: id for (_, title), id in graph.titles.entries.items()}
    for moment in graph.moments.values():
        made.sessions[moment.turn] = {"id": moment.turn, "created_at": moment.time, "prompt_count": 1}
    return made


def _record(graph: MemoryGraph, id: str) -> Record:
    node = graph.node(id)
    row = graph.columns[node.row]
    created, accessed = (row[name].astype(datetime) for name in ("created_at", "last_accessed_at"))
    seen = int(row["turns_at_last_access"])
    return {
        "id": id,
        "label": node.label,
        "title": node.title,
        "content": node.content,
        "attributes": current(node.attributes),
        "created_at": in_utc(created),
        "session_id": node.session,
        "importance_score": 1.0,
        "access_count": int(row["access_count"]),
        "last_accessed_at": in_utc(accessed),
        "turns_at_creation": int(row["turns_at_creation"]),
        "turns_at_last_access": None if seen < 0 else seen,
    }


def _braces(attributes: Record) -> str:
    shown = ", ".join(f"{name}: {value}" for name, value in attributes.items())
    return f" {{{shown}}}" if shown else ""
