"""GAM's two layers as Arrow tables, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from memory.conversation import Turn
from memory.errors import BadInput
from memory.gam.graph import TwoLayers
from memory.models import Vectors
from memory.systems.turns import StoredTurn
from memory.tables import vector_column, vector_type, vectors_of
from memory.vectors import VectorIndex

_TIME: pa.DataType = pa.timestamp("us", tz="UTC")
_UTTERANCE: dict[str, pa.DataType] = {
    "turn": pa.string(),
    "session": pa.string(),
    "session_position": pa.int32(),
    "time": _TIME,
    "role": pa.string(),
    "speaker": pa.string(),
    "text": pa.string(),
    "caption": pa.string(),
    "tokens": pa.int64(),
    "topic": pa.int32(),
}
UTTERANCES = pa.schema(_UTTERANCE)
"""Columns of the utterances, without their vectors, in order; `topic` is null in the buffer."""
_TOPIC: dict[str, pa.DataType] = {"topic": pa.int32(), "summary": pa.string()}
TOPICS = pa.schema(_TOPIC)
"""Columns of the topics, without their vectors, in order."""
EVENT_EDGES = pa.schema({"source": pa.string(), "type": pa.string(), "target": pa.string()})
"""Edges between utterances, by their turns; `type` is temporal or causal."""
_LINK: dict[str, pa.DataType] = {"source": pa.int32(), "target": pa.int32(), "confidence": pa.float64()}
TOPIC_LINKS = pa.schema(_LINK)
"""Links between topics, in the order they came to be."""
COUNTS = pa.schema({"failed": pa.int64()})
"""One row: what the memory counts."""
NAMES = ("utterances", "topics", "event_edges", "topic_links", "counts")


def to_tables(graph: TwoLayers, failed: int) -> dict[str, pa.Table]:
    """The tables of a memory; a node without a vector has one of zeros."""
    turns = [utterance.held.turn.id for utterance in graph.utterances]
    edges = [("temporal", ends) for ends in graph.next_in_time()] + [("causal", e) for e in graph.causes]
    event_edges = [{"source": turns[a], "type": kind, "target": turns[b]} for kind, (a, b) in edges]
    links = [{"source": a, "target": b, "confidence": sure} for (a, b), sure in graph.links.items()]
    topics = [{"topic": n, "summary": topic.summary} for n, topic in enumerate(graph.topics)]
    return {
        "utterances": _with_vectors(
            pa.Table.from_pylist(_utterance_rows(graph), schema=UTTERANCES),
            graph.vectors,
            [each.row for each in graph.utterances],
        ),
        "topics": _with_vectors(
            pa.Table.from_pylist(topics, schema=TOPICS),
            graph.topic_vectors,
            [each.row for each in graph.topics],
        ),
        "event_edges": pa.Table.from_pylist(event_edges, schema=EVENT_EDGES),
        "topic_links": pa.Table.from_pylist(links, schema=TOPIC_LINKS),
        "counts": pa.Table.from_pylist([{"failed": failed}], schema=COUNTS),
    }


def _utterance_rows(graph: TwoLayers) -> list[dict[str, object]]:
    topic_of = {place: number for number, topic in enumerate(graph.topics) for place in topic.places}
    return [
        {
            "turn": each.held.turn.id,
            "session": each.held.session,
            "session_position": each.sitting,
            "time": each.held.time,
            "role": each.held.turn.role,
            "speaker": each.held.turn.speaker,
            "text": each.held.turn.text,
            "caption": each.held.turn.caption,
            "tokens": each.tokens,
            "topic": topic_of.get(place),
        }
        for place, each in enumerate(graph.utterances)
    ]


def _with_vectors(table: pa.Table, vectors: VectorIndex, rows: list[int | None]) -> pa.Table:
    matrix = np.zeros((len(rows), vectors.dimensions), np.float32)
    for place, row in enumerate(rows):
        if row is not None:
            matrix[place] = vectors.matrix[row]
    return table.append_column(pa.field("vector", vector_type(vectors.dimensions)), vector_column(matrix))


def from_tables(tables: Mapping[str, pa.Table], dimensions: int) -> tuple[TwoLayers, int]:
    """The memory of its tables, and how many replies it has failed to get.

    Raises:
        BadInput: If one is missing, or they do not fit one another.
    """
    if missing := [name for name in NAMES if name not in tables]:
        raise BadInput(f"the memory lacks its table {missing[0]}; build it again")
    graph = TwoLayers(dimensions)
    try:
        _restore_utterances(graph, tables["utterances"])
        _restore_topics(graph, tables["topics"], tables["utterances"].column("topic").to_pylist())
        _restore_edges(graph, tables)
        [counts] = tables["counts"].to_pylist()
        return graph, counts["failed"]
    except (KeyError, ValueError) as error:
        raise BadInput(f"the memory's tables do not fit one another ({error}); build it again") from error


def _restore_utterances(graph: TwoLayers, table: pa.Table) -> None:
    vectors = vectors_of(table, graph.vectors.dimensions)
    for row, vector in zip(table.drop_columns(["vector"]).to_pylist(), vectors, strict=True):
        turn = Turn(row["turn"], row["role"], row["speaker"], row["text"], row["caption"])
        held = StoredTurn(turn, row["session"], row["time"])
        graph.append(held, row["session_position"], row["tokens"], _vector(vector))


def _restore_topics(graph: TwoLayers, table: pa.Table, topic_of: list[int | None]) -> None:
    vectors = vectors_of(table, graph.topic_vectors.dimensions)
    for number, (row, vector) in enumerate(zip(table.to_pylist(), vectors, strict=True)):
        first = graph.active.start
        end = first + topic_of.count(number)
        if row["topic"] != number or set(topic_of[first:end]) != {number}:
            raise ValueError("the utterances of a topic are not one run of them")
        graph.close(end, row["summary"], _vector(vector))
    if any(topic is not None for topic in topic_of[graph.active.start :]):
        raise ValueError("an utterance is of an unknown topic")


def _vector(vector: Vectors) -> Vectors | None:
    return vector if vector.any() else None


def _restore_edges(graph: TwoLayers, tables: Mapping[str, pa.Table]) -> None:
    place = {each.held.turn.id: number for number, each in enumerate(graph.utterances)}
    for row in tables["event_edges"].to_pylist():
        if row["type"] == "causal":
            graph.causes.append((place[row["source"]], place[row["target"]]))
    for row in tables["topic_links"].to_pylist():
        if not 0 <= row["source"] < row["target"] < len(graph.topics):
            raise ValueError("a link has an unknown end")
        graph.link(row["source"], row["target"], row["confidence"])
