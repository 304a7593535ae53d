"""A graph whose items stand where a test puts them, and a model that replies to the four tasks of a repair."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory.errors import CallFailed
from memory.gaama.graph import ConceptGraph, Item, episode_id, text_id
from memory.gaama.repairing import GaamaEditing
from memory.models import ChatRequest, Reply
from memory.repair.graft import Asked, Graft
from memory.repair.settings import GRAFT_PROFILES, GraftSettings
from tests.memory.gaama.fakes import PlacedEmbedder, gaama_settings

QUESTION = "Where does Ilse swim?"
PROBE = "Which lake does Ilse go to?"
ANSWER = "In a pool."


class GraftChat:
    """Replies by task; a list of replies is given one by one, and its last again and again."""

    name = "fake:graft"

    def __init__(self, **replies: Any) -> None:
        self.replies: dict[str, Any] = {
            "diagnose": {"completeness": 0.1},
            "probe": {"analysis_questions": [{"question": PROBE, "reasoning": "the lake is missing"}]},
            "plan": {"edit_ops": []},
            "verify": all_of_them,
            **replies,
        }
        self.requests: list[ChatRequest] = []

    def ask(self, request: ChatRequest, read: Callable[[str], Any]) -> Reply[Any]:
        self.requests.append(request)
        reply = self.replies[request.task.removeprefix("graft_")]
        if callable(reply):
            reply = reply(request)
        if isinstance(reply, Exception):
            raise reply
        text = reply if isinstance(reply, str) else json.dumps(reply)
        try:
            return Reply(read(text), text, "call", 0, False, self.name)
        except ValueError as error:
            raise CallFailed(f"no usable reply: {error}", final=True) from error

    def ask_many(self, requests: Sequence[ChatRequest], read: Callable[[str], Any]) -> list[Any]:
        return [self.ask(request, read) for request in requests]

    @property
    def tasks(self) -> list[str]:
        return [request.task.removeprefix("graft_") for request in self.requests]

    def asked(self, task: str) -> ChatRequest:
        [request] = [request for request in self.requests if request.task == f"graft_{task}"]
        return request


def all_of_them(request: ChatRequest) -> Mapping[str, Any]:
    """A verification that passes every edit."""
    return {"passed_indices": list(range(1, 1 + len(json.loads(request.inputs["edits"]))))}


def fact(text: str, *sources: str, belief: Any = 0.8, concepts: Sequence[str] = ()) -> dict[str, Any]:
    """A planned fact that stands on the episodes of some texts."""
    params = {
        "fact_text": text,
        "belief": belief,
        "source_episode_ids": [episode_id(source) for source in sources],
        "concepts": list(concepts),
    }
    return {"op_type": "CREATE_FACT", "params": params, "root_cause": "not written down"}


def concept(label: str, *ids: str) -> dict[str, Any]:
    """A planned concept."""
    params = {"concept_label": label, "connected_node_ids": list(ids)}
    return {"op_type": "CREATE_CONCEPT", "params": params, "root_cause": "not joined"}


def plan(*edits: Mapping[str, Any]) -> dict[str, Any]:
    return {"chain_of_thought": {}, "edit_ops": list(edits)}


class Memory:
    """A GAAMA graph that a test fills, and its repair. An episode's turn is its text."""

    def __init__(self, profile: str = "improved", **changes: Any) -> None:
        self.embedder = PlacedEmbedder()
        self.graph = ConceptGraph(self.embedder.dimensions)
        self.editing = GaamaEditing(self.graph, gaama_settings(profile, **changes), self.embedder)

    def add(self, kind: Any, text: str, cosine: float = 0.0, beside: str = QUESTION) -> str:
        """An item at a cosine of the question, or of another text."""
        if cosine:
            self.embedder.place(text, beside, cosine)
        id = episode_id(text) if kind == "episode" else text_id(text)
        turn = text if kind == "episode" else None
        item = Item(id, -1, kind, text, self.graph.next_number(), turn=turn)
        return self.graph.add(item, self.embedder.vector(text)).id

    def graft(self, chat: GraftChat, profile: str = "improved", answer: Any = None, **changes: Any) -> Graft:
        settings = GraftSettings(**{**GRAFT_PROFILES[profile], **changes})
        return Graft(self.editing, settings, chat, answer or (lambda question, context: ANSWER))

    def repair(self, chat: GraftChat, profile: str = "improved", **more: Any) -> Any:
        return self.graft(chat, profile, **more).repair(asked())

    def texts(self, kind: str) -> list[str]:
        return [item.text for item in self.editing.all_of(kind)]


def asked(**known: Any) -> Asked:
    return Asked("q1", "h", QUESTION, **known)


def with_an_episode(profile: str = "improved", **changes: Any) -> Memory:
    """A memory of one episode, `lake`, which question and probe bring up."""
    memory = Memory(profile, **changes)
    memory.add("episode", "lake", 0.5)
    memory.embedder.place(PROBE, QUESTION, 0.9)
    return memory
