"""An embedder whose vectors stand where a test puts them, and a builder that replies as a test wrote."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from memory.conversation import Query
from memory.errors import CallFailed
from memory.gaama.chunks import Event
from memory.gaama.construction import Builder
from memory.gaama.graph import ConceptGraph, Item, episode_id, text_id
from memory.gaama.settings import GAAMA_PROFILES, GaamaSettings
from memory.models import ChatRequest, Embedded, Embedder, Reply, Vectors

DIMENSIONS = 1024


class PlacedEmbedder:
    """Every text has an axis of its own, so that all cosines are 0, unless it is placed near to another text."""

    name = "fake:placed"
    dimensions = DIMENSIONS

    def __init__(self, refused: Sequence[str] = ()) -> None:
        self.axes: dict[str, int] = {}
        self.near: dict[str, tuple[str, float]] = {}
        self.refused = refused

    def place(self, text: str, beside: str, cosine: float) -> None:
        """Put a text at a cosine of another."""
        self.near[text] = (beside, cosine)

    def vector(self, text: str) -> Vectors:
        axis = np.zeros(DIMENSIONS)
        axis[self.axes.setdefault(text, len(self.axes))] = 1.0
        if text in self.near:
            beside, cosine = self.near[text]
            axis = cosine * self.vector(beside) + np.sqrt(1 - cosine**2) * axis
        return axis.astype(np.float32)

    def embed(self, texts: Sequence[str]) -> Embedded:
        failures = {row: "refused" for row, text in enumerate(texts) if text in self.refused}
        vectors = [np.zeros(DIMENSIONS) if text in self.refused else self.vector(text) for text in texts]
        return Embedded(np.asarray(vectors, np.float32).reshape(-1, DIMENSIONS), failures)


Answer = str | Mapping[str, Any] | CallFailed


class FakeBuilder:
    """Replies to the two requests of construction: with what a test wrote, or what it makes of the request."""

    name = "fake:builder"

    def __init__(
        self,
        concept_facts: Answer | Callable[[ChatRequest], Answer] = '{"facts": [], "concepts": []}',
        reflections: Answer | Callable[[ChatRequest], Answer] = '{"reflections": []}',
    ) -> None:
        self.replies = {"concept_facts": concept_facts, "reflections": reflections}
        self.requests: list[ChatRequest] = []

    def ask(self, request: ChatRequest, read: Callable[[str], Any]) -> Reply[Any]:
        self.requests.append(request)
        reply = self.replies[request.task]
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, CallFailed):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        try:
            return Reply(read(text), text, "call", 0, False, self.name)
        except ValueError as error:
            raise CallFailed(f"no usable reply: {error}", final=True) from error

    def asked(self, task: str) -> list[ChatRequest]:
        return [request for request in self.requests if request.task == task]


def gaama_settings(profile: str = "published", **changes: Any) -> GaamaSettings:
    return GaamaSettings(**{**GAAMA_PROFILES[profile], **changes})


def entries(request: ChatRequest, section: str) -> list[list[str]]:
    """The entries of a section, `[id, text]`, as an offline model reads them."""
    found: list[list[str]] = json.loads(request.inputs[section])
    return found


def texts(request: ChatRequest, section: str) -> list[str]:
    return [text for _, text in entries(request, section)]


def ids(request: ChatRequest, section: str) -> list[str]:
    return [id for id, _ in entries(request, section)]


def new_builder(
    chat: FakeBuilder, embedder: Embedder | None = None, profile: str = "published", **changes: Any
) -> Builder:
    embedder = embedder or PlacedEmbedder()
    return Builder(ConceptGraph(embedder.dimensions), gaama_settings(profile, **changes), chat, embedder)


def of_kind(graph: ConceptGraph, kind: Any) -> list[str]:
    return [item.text for item in graph.of_kind(kind)]


def edges(graph: ConceptGraph, type: str | None = None) -> list[tuple[str, str, str]]:
    """`(type, source text, target text)` in the order they were added."""
    found = sorted(graph.topology.edges(data=True), key=lambda edge: edge[2]["order"])
    return [
        (data["type"], graph.items[source].text, graph.items[target].text)
        for source, target, data in found
        if type in (None, data["type"])
    ]


class Placed:
    """A graph whose items stand at chosen similarities to one query."""

    def __init__(self) -> None:
        self.graph = ConceptGraph(2)
        self.query = np.array([1.0, 0.0], np.float32)

    def add(self, kind: Any, text: str, similarity: float = 0.0) -> str:
        """An item by its text, which is its id unless it is an episode; similarity is on the scale (1 + cosine) / 2."""
        cosine = 2 * similarity - 1
        turn = text if kind == "episode" else None
        id = text if kind == "episode" else text_id(text)
        self.graph.add(
            Item(id, -1, kind, text, self.graph.next_number(), turn=turn), [cosine, np.sqrt(1 - cosine**2)]
        )
        return id

    def many(self, kind: Any, count: int, similarity: float = 0.0) -> list[str]:
        """Items of a kind, the next a little less similar than the one before."""
        return [self.add(kind, f"{kind} {place}", similarity - place * 1e-5) for place in range(count)]


def ask(text: str) -> Query:
    return Query("q", "h", text, None)


def event(text, first=False):
    """An event whose turn is its text."""
    return Event(text, "s", None, "Ann", text, first)


def fact(text, sources=(), concepts=(), **fields):
    return {
        "fact_text": text,
        "source_episode_ids": [episode_id(turn) for turn in sources],
        "concepts": list(concepts),
        **fields,
    }


def concept(label, *turns):
    return {"concept_label": label, "episode_ids": [episode_id(turn) for turn in turns]}


def reply(facts=(), concepts=()):
    return {"facts": list(facts), "concepts": list(concepts)}


def in_turn(*replies):
    """Replies, one a request; the last for all that follow."""
    left = list(replies)
    return lambda request: left.pop(0) if len(left) > 1 else left[0]


def from_all_facts(text):
    """A reflection that rests on all new facts."""

    def made(request: ChatRequest):
        return {"reflections": [{"reflection_text": text, "source_fact_ids": ids(request, "facts")}]}

    return made


def worked(*chunks, concept_facts=None, reflections=None, embedder=None, **changes):
    """A builder that has worked in chunks of turns, and its chat model."""
    chat = FakeBuilder(concept_facts or reply(), *(() if reflections is None else (reflections,)))
    builder = new_builder(chat, embedder, **changes)
    for chunk in chunks:
        builder.work_in([event(text) for text in chunk], ())
    return builder, chat
