"""Turns to merge and questions to ask, for memories whose vectors are random."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

from memory.extraction import LABELS, ExtractedEdge, ExtractedNode, Extraction
from memory.graph import MemoryGraph, Moment
from memory.models import Vectors
from memory.validation import QueryEntity
from tests.benchmarks.synthetic import unit_rows

NOON = datetime(2024, 2, 1, 12, tzinfo=UTC)
SPREAD = 0.3
"""Length of the noise added to a unit vector to say the same in other words: a cosine of 0.958."""


@dataclass(frozen=True)
class Said:
    """A turn: where it stands, what was extracted from it, and a vector for each node."""

    at: Moment
    extraction: Extraction
    vectors: Vectors


@dataclass(frozen=True)
class Asked:
    """A question's entities, each with its vector."""

    entities: tuple[QueryEntity, ...]
    vectors: Vectors


def new_turn(number: int, nodes: int = 5) -> Extraction:
    """New nodes, the first joined to the others; about two and a half nodes a turn are what a run has."""
    made = [ExtractedNode(key=str(i), label="Concept", title=f"fresh {number} {i}") for i in range(nodes)]
    edges = [ExtractedEdge(source="0", target=str(i), relationship="goes with") for i in range(1, nodes)]
    return Extraction(nodes=tuple(made), edges=tuple(edges))


def near(random: np.random.Generator, rows: Vectors) -> Vectors:
    """Unit rows with a cosine of about 0.96 to those given."""
    moved = rows + SPREAD * unit_rows(random, *rows.shape)
    return np.asarray(moved / np.linalg.norm(moved, axis=1, keepdims=True), np.float32)


def conversation(random: np.random.Generator, graph: MemoryGraph, turns: int) -> list[Said]:
    """Turns that speak of what a graph holds and of new things, so that every way to merge is met.

    A node has a stored title, with another case or under another label; a stored vector in other words under a new
    title; or is new, twice in a turn now and then, without a title, or the user. Edges say again what was said with
    another value, join a node to itself, and end at nodes that were not extracted.
    """
    return [_turn(random, graph, number) for number in range(turns)]


def questions(random: np.random.Generator, graph: MemoryGraph, count: int) -> list[Asked]:
    """Questions of one to three entities: stored nodes in other words, by title or not, and the user."""
    asked = []
    for number in range(count):
        rows = random.integers(0, len(graph), random.integers(1, 4))
        nodes = [graph.node_at(int(row)) for row in rows]
        titles = [node.title if random.random() < 0.4 else f"asked {number}" for node in nodes]
        entities = [QueryEntity(n.label, title) for n, title in zip(nodes, titles, strict=True)]
        vectors = near(random, graph.vectors.matrix[rows])
        if random.random() < 0.3:
            entities.append(QueryEntity("Person", "User"))
            vectors = np.concatenate([vectors, unit_rows(random, 1, graph.dimensions)])
        asked.append(Asked(tuple(entities), vectors))
    return asked


def _turn(random: np.random.Generator, graph: MemoryGraph, number: int) -> Said:
    count = int(random.integers(2, 6))
    vectors = unit_rows(random, count, graph.dimensions)
    nodes: list[ExtractedNode] = []
    for i in range(count):
        held = graph.node_at(int(random.integers(len(graph))))
        label, title = str(random.choice(LABELS)), f"thing {number} {i}"
        kind = random.choice(["title", "other label", "other words", "new", "twin", "untitled", "user"])
        if kind in ("title", "other words"):
            label = held.label
            vectors[i] = near(random, graph.vectors.matrix[held.row][None])[0]
        if kind in ("title", "other label"):
            title = held.title.upper()
        elif kind == "twin" and nodes:
            label, title = nodes[0].label, nodes[0].title
        elif kind == "untitled":
            title = ""
        elif kind == "user":
            label, title = "Person", "User"
        said = {"colour": f"colour {random.integers(3)}", "count": int(random.integers(9))}
        content = f"content {number}" if random.random() < 0.5 else None
        nodes.append(ExtractedNode(key=str(i), label=label, title=title, content=content, attributes=said))
    moment = Moment(f"said#{number}", "later", NOON + timedelta(hours=number))
    return Said(moment, Extraction(nodes=tuple(nodes), edges=_edges(random, count, number)), vectors)


def _edges(random: np.random.Generator, nodes: int, number: int) -> tuple[ExtractedEdge, ...]:
    ends: Sequence[Sequence[int]] = random.integers(0, nodes + 1, (4, 2)).tolist()
    return tuple(
        ExtractedEdge(
            source=str(source),
            target=str(target),
            relationship=str(random.choice(["likes", "owns"])),
            attributes={"when": f"turn {number}.{place}"},
        )
        for place, (source, target) in enumerate(ends)
    )
