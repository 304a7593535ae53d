"""A builder that answers GAM's three requests as a test says, and memories made with it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memory.conversation import Query, Session
from memory.errors import CallFailed
from memory.gam.settings import GAM_PROFILES, GamSettings
from memory.models import ChatRequest, Embedder, Reply
from memory.protocol import Models
from memory.systems.gam import Gam
from tests.memory.fake_models import FakeChat
from tests.memory.gaama.fakes import PlacedEmbedder

Answer = str | Mapping[str, Any] | CallFailed | Callable[[ChatRequest], Any]


class FakeBuilder:
    """Replies by task: nothing shifts, summaries are blank, and nothing is linked, unless a test says otherwise."""

    name = "fake:builder"

    def __init__(self, **replies: Answer) -> None:
        nothing: dict[str, Answer] = {
            "gam_boundary": {"starts": []},
            "gam_topic": {"summary": ""},
            "gam_links": {"links": []},
        }
        self.replies = nothing | replies
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

    def ask_many(self, requests: Sequence[ChatRequest], read: Callable[[str], Any]) -> list[Any]:
        return [self.ask(request, read) for request in requests]

    def asked(self, task: str) -> list[ChatRequest]:
        return [request for request in self.requests if request.task == task]


def starts_with(*words: str) -> Callable[[ChatRequest], Any]:
    """A detector: a new subject begins with each turn whose text begins with one of some words."""

    def reply(request: ChatRequest) -> Any:
        turns = json.loads(request.inputs["turns"])
        return {"starts": [id for id, _, _, text in turns if text.startswith(words)]}

    return reply


def summed_up(request: ChatRequest) -> Any:
    """A summary: `about` and the first turn's text."""
    return {"summary": f"about {json.loads(request.inputs['turns'])[0][3]}"}


def gam_settings(profile: str = "published", **changes: Any) -> GamSettings:
    return GamSettings(**{**GAM_PROFILES[profile], **changes})


def new_gam(
    builder: FakeBuilder | None = None,
    embedder: Embedder | None = None,
    profile: str = "published",
    **changes: Any,
) -> Gam:
    """A memory whose utterances are embedded as their bare text, so that a test can place them."""
    changes = {"text": "raw", "show_dates": False, **changes}
    given = Models(FakeChat("{}"), embedder or PlacedEmbedder(), builder or FakeBuilder())
    return Gam(gam_settings(profile, **changes), given)


def heard(memory: Gam, *sessions: Session) -> Gam:
    for session in sessions:
        memory.remember(session, {})
    return memory


def runs(memory: Gam) -> list[list[str]]:
    """The texts of each archived event graph, and last those of the buffer."""
    graph = memory.graph
    places = [*(topic.places for topic in graph.topics), graph.active]
    return [[graph.utterances[place].held.turn.text for place in run] for run in places]


def asking(text: str) -> Query:
    return Query("q", "h", text)


def order(memory: Gam, question: str) -> list[str]:
    """Texts of the turns in the provenance, best first."""
    texts = {each.held.turn.id: each.held.turn.text for each in memory.graph.utterances}
    return [texts[source.turn] for source in memory.recall(asking(question)).provenance]
