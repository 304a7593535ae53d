"""Models that are not asked: what the store holds is replayed, the rest is invented, and what it would take is noted.

They make the same calls, by id, as the models behind the gateway, so that a study walked with them finds out which
calls it would buy. They open no connection, need no key and write nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

import numpy as np

from memory.errors import CallFailed
from memory.models import ChatRequest, Embedded, Reply, Vectors
from memory.tokens import cut, sendable
from tasks.models import invented
from tasks.models.calls import Call, Payload
from tasks.models.chat import unusable
from tasks.models.embedding import BLANK, scaled
from tasks.models.foreseen import (
    Heading,
    Line,
    Lines,
    Span,
    chat_prompt,
    embed_prompt,
    repeated_tokens,
    text_tokens,
)
from tasks.models.gateway import Limits, Place
from tasks.models.holdings import Holdings
from tasks.models.providers import ChatProvider, ChatSettings, EmbedProvider, EmbedSettings

T = TypeVar("T")

REASKED = 1.1
"""At most one reply in ten is asked for again."""
SPREAD = 2.0
"""What rests on replies that are not there yet, contexts and texts to embed, may come to half or twice as much."""

_FULL = 0.75
"""Of recalls that rest on them, so many bring up something; empty contexts make the same call as no memory at all."""

_JUDGING = ("judge", "key_facts")
# These follow only where an answer does not suffice and a plan comes of it, or a reflection is not yet finished, which
# may never be.
_PERHAPS = ("graft_probe", "graft_plan", "graft_verify", "ace_refine")

_HELD = Line(held=1)


@dataclass
class Simulation:
    """What the models of one simulated run share.

    Attributes:
        holdings: What is bought already.
        given: Texts that stand in the data, so that no reply decides whether they are embedded.
        retry_failed: Whether replies that stayed unusable are asked for again.
        floor: The highest retrieval floor of the study, which invented vectors clear.
        lines: What the calls so far would take; each call is noted once, where it is made first.
        new_texts: Whether a reply that memories are made of has been invented, and so the texts that they embed.
        new_memories: Whether memories rest on an invented reply or vector.
        asking: Conditions that have asked a model for their memory.
        answers: Invented answers.
        judged: Questions of which an invented answer has been judged.
    """

    holdings: Holdings
    given: frozenset[str] = frozenset()
    retry_failed: bool = False
    floor: float = 0.0
    lines: Lines = field(default_factory=dict)
    new_texts: bool = False
    new_memories: bool = False
    asking: set[str] = field(default_factory=set)
    answers: set[str] = field(default_factory=set)
    judged: set[str] = field(default_factory=set)
    vectors: dict[tuple[str, str], Vectors] = field(default_factory=dict)
    _noted: set[str] = field(default_factory=set)

    def note(self, call_id: str, heading: Heading, line: Callable[[], Line]) -> None:
        """Add a call's line under its heading, unless the call has been noted before."""
        if call_id not in self._noted:
            self._noted.add(call_id)
            self.lines[heading] = self.lines.get(heading, Line()) + line()


class SimulatedChat:
    """A `memory.models.ChatModel` that is not asked."""

    def __init__(
        self,
        simulation: Simulation,
        provider: ChatProvider,
        settings: ChatSettings,
        place: Place,
        repeat: int = 0,
    ) -> None:
        self._simulation = simulation
        self._provider = provider
        self._settings = settings
        self._heading = Heading(place.stage, place.condition, provider.alias, settings.model, chat=True)
        self._repeat = repeat

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self._provider.alias}:{self._settings.model}"

    def ask(self, request: ChatRequest, read: Callable[[str], T]) -> Reply[T]:
        """The reply that is held, after as many attempts as a run would make, or an invented one."""
        payload = self._provider.payload(request, self._settings)
        if request.task not in ("answer", *_JUDGING):
            self._simulation.asking.add(self._heading.condition)
        reasks = 0 if self._provider.local else Limits().reasks
        attempt = asked = 0
        while True:
            call = Call(self._provider.alias, self._settings.model, payload, attempt, self._repeat)
            raw = self._simulation.holdings.reply(call.id)
            if raw is None and asked > reasks:
                raise CallFailed("the replies that are held are of no use", final=True)
            if raw is None:
                return self._invent(request, call, read)
            self._simulation.note(call.id, self._heading, lambda: _HELD)
            if unusable(raw, read) is None:
                return Reply(read(raw.text), raw.text, call.id, attempt, True, raw.model)
            attempt += 1
            asked += not self._simulation.retry_failed

    def ask_many(
        self, requests: Sequence[ChatRequest], read: Callable[[str], T]
    ) -> list[Reply[T] | CallFailed]:
        """See `memory.models.ChatModel.ask_many`."""

        def settle(request: ChatRequest) -> Reply[T] | CallFailed:
            try:
                return self.ask(request, read)
            except CallFailed as failure:
                return failure

        return [settle(request) for request in requests]

    def foresee(self, request: ChatRequest) -> None:
        """Note what the first attempt at a request would take, without a reply."""
        call = self._first(request)
        held = self._simulation.holdings.reply(call.id) is not None
        self._simulation.note(
            call.id, self._heading, lambda: _HELD if held else self._line(request, call.payload)
        )

    def _first(self, request: ChatRequest) -> Call:
        payload = self._provider.payload(request, self._settings)
        return Call(self._provider.alias, self._settings.model, payload, 0, self._repeat)

    def _invent(self, request: ChatRequest, call: Call, read: Callable[[str], T]) -> Reply[T]:
        simulation = self._simulation
        simulation.note(call.id, self._heading, lambda: self._line(request, call.payload))
        text = invented.reply_text(request, call.id)
        if request.task == "answer":
            simulation.answers.add(text)
        elif request.task not in _JUDGING:
            simulation.new_texts = simulation.new_memories = True
        try:
            return Reply(read(text), text, call.id, call.attempt, False, call.model)
        except ValueError:
            raise CallFailed(
                f"an estimate cannot invent a reply to the task {request.task}", final=True
            ) from None

    def _line(self, request: ChatRequest, payload: Payload) -> Line:
        """What buying a call takes."""
        alias, model = self._provider.alias, self._settings.model
        if self._provider.local:
            return Line(calls=Span(1, 1))
        said = text_tokens(alias, model, payload["messages"][-1]["content"])
        reply = invented.reply_tokens(request, said.low, self._settings.cap(request))
        prompt = chat_prompt(alias, model, payload) + self._unsure(request)
        least = self._least(request)
        return Line(
            calls=Span(least, REASKED),
            prompt=Span(prompt.low * least, prompt.high * REASKED),
            reply=Span(reply.low * least, reply.high * REASKED),
            repeated=least * repeated_tokens(alias, model, payload),
        )

    def _rests_on_inventions(self, request: ChatRequest) -> bool:
        simulation = self._simulation
        if request.task == "answer":
            return simulation.new_memories and self._heading.condition in simulation.asking
        return request.task in _JUDGING and request.inputs["answer"] in simulation.answers

    def _unsure(self, request: ChatRequest) -> Span:
        """Tokens that a prompt may have less or more than now, once the replies are there that it rests on."""
        if not self._rests_on_inventions(request):
            return Span()
        part = request.inputs["context" if request.task == "answer" else "answer"]
        now = text_tokens(self._provider.alias, self._settings.model, part)
        then = invented.ANSWER if request.task in _JUDGING else now.wider(SPREAD)
        return Span(then.low - now.low, then.high - now.high)

    def _least(self, request: ChatRequest) -> float:
        """How many calls one like this comes to at the least: calls that turn out to be the same are bought once."""
        if request.task in _PERHAPS:
            return 0.0
        if not self._rests_on_inventions(request):
            return 1.0
        if request.task == "answer":
            return _FULL
        # Conditions that give a question the same answer share its verdict: at best all do.
        judged = request.inputs["question"] in self._simulation.judged
        self._simulation.judged.add(request.inputs["question"])
        return 0.0 if judged else 1.0


class SimulatedEmbedder:
    """A `memory.models.Embedder` that is not asked."""

    def __init__(
        self, simulation: Simulation, provider: EmbedProvider, settings: EmbedSettings, place: Place
    ) -> None:
        self._simulation = simulation
        self._provider = provider
        self._settings = settings
        self._heading = Heading(place.stage, place.condition, provider.alias, settings.model, chat=False)

    @property
    def name(self) -> str:
        """`provider:model`."""
        return f"{self._provider.alias}:{self._settings.model}"

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._settings.dimensions

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Vectors that are held or invented."""
        self._simulation.asking.add(self._heading.condition)
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        failures = {row: BLANK for row, text in enumerate(texts) if not text.strip()}
        for row, text in enumerate(texts):
            if row not in failures:
                vectors[row] = self._vector(text)
        return Embedded(scaled(vectors), failures)

    def _vector(self, text: str) -> Vectors:
        known = self._simulation.vectors.get((self.name, text))
        if known is None:
            known = self._simulation.vectors[self.name, text] = self._find(text)
        return known

    def _find(self, text: str) -> Vectors:
        sent, _ = cut(sendable(text), self._settings.max_tokens)
        payload = self._provider.embed_payload(sent, self._settings)
        call = Call(self._provider.alias, self._settings.model, payload)
        held = self._simulation.holdings.vector(call.id)
        if held is not None and len(held) == self.dimensions:
            self._simulation.note(call.id, self._heading, lambda: _HELD)
            return held
        given = text in self._simulation.given
        self._simulation.note(call.id, self._heading, lambda: self._line(sent, given=given))
        self._simulation.new_memories = True
        return invented.vector(sent, self._simulation.floor, self.dimensions)

    def _line(self, text: str, *, given: bool) -> Line:
        """What buying a vector takes; of texts from replies that are not there yet, there may be fewer or more."""
        calls, prompt = Span(1, 1), Span()
        if not self._provider.local:
            prompt = embed_prompt(self._provider.alias, self._settings.model, text)
        if self._simulation.new_texts and not given:
            calls, prompt = calls.wider(SPREAD), prompt.wider(SPREAD)
        return Line(calls=calls, prompt=prompt)
