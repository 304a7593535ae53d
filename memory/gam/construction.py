"""From turns to utterances, from utterances to topics, and from topics to links."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from memory import tokens
from memory.conversation import Session
from memory.errors import CallFailed
from memory.gam.graph import TwoLayers
from memory.gam.settings import GamSettings
from memory.models import ChatModel, Embedder, Vectors
from memory.prompts import gam_boundary, gam_links, gam_topic
from memory.prompts.gam_boundary import Said
from memory.systems.turns import StoredTurn, stored

T = TypeVar("T")


class Builder:
    """Hears turns one after another and turns the buffer over when it is due.

    Attributes:
        failed: Requests of which there is no usable reply: the buffer goes on, the topic has no summary or no links.
    """

    def __init__(self, graph: TwoLayers, settings: GamSettings, chat: ChatModel, embedder: Embedder) -> None:
        self.graph = graph
        self.settings = settings
        self.chat = chat
        self.embedder = embedder
        self.failed = 0

    def hear(self, session: Session) -> None:
        """Append the turns of a session, or of a part of one.

        Raises:
            CallFailed: If a fault of transport keeps a reply or a vector back.
            CallRefused: If no further call may be made.
        """
        turns = stored(session)
        texts = [held.text(self.settings.text) for held in turns]
        embedded = self.embedder.embed(texts)
        for place, (held, text) in enumerate(zip(turns, texts, strict=True)):
            size = tokens.count(text)
            if self._is_due(held, session.position, size):
                self._turn_over(held, size)
            vector = None if place in embedded.failures else embedded.vectors[place]
            self.graph.append(held, session.position, size, vector)

    def consolidate(self, end: int) -> None:
        """Make the buffer's utterances before a place one topic, and link it.

        Raises:
            CallFailed: As `hear`.
            CallRefused: As `hear`.
        """
        first = self.graph.active.start
        if end <= first:
            return
        if not self.settings.topics:
            self.graph.close(end)
            return
        said = self._said(first, end)
        told = self._asked(lambda: self.chat.ask(gam_topic.request(said), gam_topic.read).value)
        summary = told.summary if told else ""
        pairs = gam_topic.causes(told, said) if told else []
        vector = self._topic_vector(summary, first, end)
        near = self.graph.nearest_topics(vector, self.settings.nearest_topics) if vector is not None else []
        number = self.graph.close(
            end, summary, vector, [(first + cause, first + effect) for cause, effect in pairs]
        )
        self._link(number, [other for other, _ in near])

    # When the buffer is turned over

    def _is_due(self, coming: StoredTurn, sitting: int, size: int) -> bool:
        """Whether the coming turn finds a session's end, a pause, or no room."""
        if not self.graph.active:
            return False
        if self._is_full(size):
            return True
        if self.settings.consolidation == "fixed" or not self.settings.topics:
            return False
        last = self.graph.utterances[-1]
        if (last.held.session, last.sitting) != (coming.session, sitting):
            return True
        if coming.time is None or last.held.time is None:
            return False
        return (coming.time - last.held.time).total_seconds() >= 3600 * self.settings.pause_hours

    def _is_full(self, size: int) -> bool:
        return self.graph.buffered + size > self.settings.buffer_tokens

    def _turn_over(self, coming: StoredTurn, size: int) -> None:
        """Consolidate what lies before each change of subject, and whatever leaves no room for the coming turn."""
        if self.settings.consolidation == "semantic_shift" and self.settings.topics:
            first = self.graph.active.start
            for start in self._starts(coming):
                self.consolidate(first + start)
        if self.graph.active and self._is_full(size):
            self.consolidate(self.graph.active.stop)

    def _starts(self, coming: StoredTurn) -> list[int]:
        """Where in the buffer a new subject begins, in order; the coming turn stands after its last."""
        said = self._said(self.graph.active.start, self.graph.active.stop)
        said.append(_said(len(said) + 1, coming, self.settings.buffer_tokens))
        request = gam_boundary.request(said)
        starts = self._asked(lambda: self.chat.ask(request, gam_boundary.read).value)
        return gam_boundary.places(starts or [], said)

    # What is made of it

    def _said(self, first: int, end: int) -> list[Said]:
        held = [utterance.held for utterance in self.graph.utterances[first:end]]
        return [_said(number, turn, self.settings.buffer_tokens) for number, turn in enumerate(held, 1)]

    def _topic_vector(self, summary: str, first: int, end: int) -> Vectors | None:
        """The summary's vector, or the mean of its utterances' where there is none."""
        if summary.strip():
            embedded = self.embedder.embed([summary])
            if not embedded.failures:
                return self.graph.topic_vectors.unit(embedded.vectors[0])
        rows = [each.row for each in self.graph.utterances[first:end] if each.row is not None]
        mean = self.graph.vectors.matrix[rows].astype(np.float64).sum(axis=0) if rows else np.zeros(1)
        return self.graph.topic_vectors.unit(mean) if np.linalg.norm(mean) > 1e-6 else None

    def _link(self, number: int, others: Sequence[int]) -> None:
        """Link a topic to those of some others that it is surely enough about the same as."""
        summary = self.graph.topics[number].summary
        shown = [other for other in others if self.graph.topics[other].summary]
        if not summary or not shown:
            return
        request = gam_links.request(summary, [self.graph.topics[other].summary for other in shown])
        replies = self._asked(lambda: self.chat.ask(request, gam_links.read).value) or []
        for place, confidence in gam_links.confidences(replies, len(shown)).items():
            if confidence > self.settings.link_threshold:
                self.graph.link(shown[place], number, confidence)

    def _asked(self, ask: Callable[[], T]) -> T | None:
        """A reply, or none where replies stayed unusable."""
        try:
            return ask()
        except CallFailed as failure:
            if not failure.final:
                raise
            self.failed += 1
            return None


def _said(number: int, held: StoredTurn, limit: int) -> Said:
    """A turn as the builder is shown it; one that is longer than a whole buffer is cut."""
    caption = f" [{held.turn.caption}]" if held.turn.caption else ""
    text, _ = tokens.cut(f"{held.turn.text}{caption}", limit)
    date = held.time.date().isoformat() if held.time else ""
    return Said(f"u{number}", date, held.turn.speaker, text)
