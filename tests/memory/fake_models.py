"""Fake models: a vector is a hash of its text, a reply is whatever the test wrote."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import numpy as np

from memory.conversation import Session, Turn, turn_id
from memory.errors import CallFailed
from memory.extraction import ExtractedEdge, ExtractedNode, Extraction
from memory.graph import MemoryGraph, Moment
from memory.merge import descriptor, merge_turn, prepared
from memory.models import ChatRequest, Embedded, Reply, Vectors
from memory.profiles import GRAPH_PROFILES, GraphSettings
from memory.protocol import Models

DIMENSIONS = 16
MAY = datetime(2023, 5, 20, 12, 0, tzinfo=UTC)


class FakeHashEmbedder:
    """Unit vectors from a hash of the text; texts in `same_as` get the vector of another text."""

    name = "fake:hash"
    dimensions = DIMENSIONS

    def __init__(self, same_as: Mapping[str, str] | None = None, refused: Sequence[str] = ()) -> None:
        self.same_as = same_as or {}
        self.refused = refused
        self.asked: list[str] = []

    def embed(self, texts: Sequence[str]) -> Embedded:
        self.asked += texts
        vectors = np.stack([self.vector(text) for text in texts]) if texts else np.zeros((0, DIMENSIONS))
        failures = {i: "refused" for i, text in enumerate(texts) if not text.strip() or text in self.refused}
        vectors[list(failures)] = 0
        return Embedded(vectors.astype(np.float32), failures)

    def vector(self, text: str) -> Vectors:
        seed = hashlib.sha256(self.same_as.get(text, text).encode()).digest()[:8]
        vector = np.random.default_rng(int.from_bytes(seed)).normal(size=DIMENSIONS)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


class FakeChat:
    """Gives the replies it was made with, one an ask; asks again while the reader refuses."""

    name = "fake:chat"

    def __init__(self, *replies: str | CallFailed) -> None:
        self.replies = list(replies)
        self.requests: list[ChatRequest] = []

    def ask(self, request: ChatRequest, read: Callable[[str], Any]) -> Reply[Any]:
        self.requests.append(request)
        reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
        if isinstance(reply, CallFailed):
            raise reply
        return Reply(read(reply), reply, "call", 0, False, self.name)

    def ask_many(self, requests: Sequence[ChatRequest], read: Callable[[str], Any]) -> list[Any]:
        return [self.ask(request, read) for request in requests]


Answer = str | Mapping[str, Any] | CallFailed


class FakeByTask:
    """Replies by task: with what a test wrote, or what it makes of the request."""

    name = "fake:by-task"

    def __init__(self, **replies: Answer | Callable[[ChatRequest], Answer]) -> None:
        self.replies = replies
        self.requests: list[ChatRequest] = []

    def ask(self, request: ChatRequest, read: Callable[[str], Any]) -> Reply[Any]:
        self.requests.append(request)
        reply = self.replies[request.task]
        reply = reply(request) if callable(reply) else reply
        if isinstance(reply, CallFailed):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        try:
            return Reply(read(text), text, "call", 0, False, self.name)
        except ValueError as error:
            raise CallFailed(f"no usable reply: {error}", final=True) from error

    def ask_many(self, requests: Sequence[ChatRequest], read: Callable[[str], Any]) -> list[Any]:
        found: list[Any] = []
        for request in requests:
            try:
                found.append(self.ask(request, read))
            except CallFailed as failure:
                found.append(failure)
        return found

    def asked(self, task: str) -> list[ChatRequest]:
        return [request for request in self.requests if request.task == task]


_LISTS = (
    *("facts", "concepts", "reflections", "tags", "lessons", "operations", "items"),
    *("what", "starts", "links"),
)
NOTHING_FOUND = json.dumps(
    {**{name: [] for name in _LISTS}, "finished": True, "success": True, "summary": ""}
)


def models(*replies: str | CallFailed, embedder: FakeHashEmbedder | None = None) -> Models:
    """Models whose chat gives some replies, and whose builder finds nothing in any conversation."""
    return Models(FakeChat(*replies), embedder or FakeHashEmbedder(), FakeChat(NOTHING_FOUND))


def asks_about(*entities: tuple[str, str]) -> str:
    """The reply of a query-entity step that names labels and titles, and of one that tags a question.

    To a curator and a selector it is an empty one.
    """
    named = [{"label": label, "title": title} for label, title in entities]
    return json.dumps(
        {"entities": named, "active": [], "replaced": [], "ids": [], "what": [t for _, t in entities]}
    )


def settings(profile: str, **changes: Any) -> GraphSettings:
    thresholds = {"dedup_threshold": 0.92, "retrieval_floor": 0.75}
    return GraphSettings(**{**thresholds, **GRAPH_PROFILES[profile], **changes})


def extraction(nodes: Sequence[Any], edges: Sequence[Any] = ()) -> Extraction:
    """An extraction from `(label, title[, content[, attributes]])`, keyed by title, and `(source, verb, target)`."""
    return Extraction(
        nodes=tuple(
            ExtractedNode(
                key=title,
                label=label,
                title=title,
                content=rest[0] if rest else None,
                attributes=rest[1] if len(rest) > 1 else {},
            )
            for label, title, *rest in nodes
        ),
        edges=tuple(
            ExtractedEdge(source=s, relationship=verb, target=t, attributes=rest[0] if rest else {})
            for s, verb, t, *rest in edges
        ),
    )


def feed(
    graph: MemoryGraph,
    turn: str,
    said: Extraction,
    time: datetime | None = MAY,
    embedder: FakeHashEmbedder | None = None,
    dedup: float = 0.92,
) -> None:
    """Merge one turn with the fake embedder's vectors, and check the graph."""
    embedder = embedder or FakeHashEmbedder()
    vectors = [embedder.vector(descriptor(n.label, n.title, n.content)) for n in prepared(said)]
    merge_turn(graph, Moment(turn, "session", time), said, vectors, dedup)
    graph.check()


def new_graph(profile: str, **changes: Any) -> MemoryGraph:
    return MemoryGraph(DIMENSIONS, settings(profile, **changes))


def session(*texts: str, position: int = 0, date: datetime | None = MAY, history: str = "h") -> Session:
    turns = tuple(
        Turn(
            turn_id(history, position, i),
            "user" if i % 2 == 0 else "assistant",
            "Ann" if i % 2 == 0 else "Bob",
            text,
        )
        for i, text in enumerate(texts)
    )
    return Session(f"s{position}", history, position, date, turns)


def titles(graph: MemoryGraph) -> list[str]:
    return [node.title for node in graph.nodes()]
