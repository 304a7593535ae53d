"""Small worlds for HippoRAG: turns with their triples, and an embedder whose cosines a test writes down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from memory.conversation import Query
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.models import Vectors
from memory.protocol import Models
from memory.systems.hipporag import HippoRAG
from tests.memory.fake_models import FakeChat, FakeHashEmbedder, extraction, session

QUESTION = "Where does she work?"
DIMENSIONS = 12
Told = Sequence[tuple[str, Sequence[tuple[str, str, str]]]]


class WrittenEmbedder(FakeHashEmbedder):
    """Cosines with the question, and between pairs of texts, as they are written; all others are 0.

    Args:
        near: Cosine with the question by text.
        alike: Cosine of a text with another one, which is not near to the question.
    """

    dimensions = 64

    def __init__(
        self, near: Mapping[str, float], alike: Mapping[str, tuple[str, float]] | None = None
    ) -> None:
        super().__init__()
        self.near = near
        self.alike = alike or {}
        self._axes: dict[str, int] = {}

    def vector(self, text: str) -> Vectors:
        vector = np.zeros(self.dimensions)
        if text == QUESTION:
            vector[0] = 1.0
        elif text in self.alike:
            other, cosine = self.alike[text]
            vector = cosine * self.vector(other) + np.sqrt(1 - cosine**2) * self._axis(text)
        else:
            cosine = self.near.get(text, 0.0)
            vector = cosine * self.vector(QUESTION) + np.sqrt(1 - cosine**2) * self._axis(text)
        return vector

    def _axis(self, text: str) -> Vectors:
        own = np.zeros(self.dimensions)
        own[self._axes.setdefault(text, len(self._axes) + 1)] = 1.0
        return own


def told(*turns: tuple[str, Sequence[tuple[str, str, str]]]) -> tuple[list[str], dict[str, Extraction]]:
    """Texts, and their extractions by turn id, from `(text, triples)`."""
    said = {}
    for number, (_, triples) in enumerate(turns):
        titles = dict.fromkeys(end for subject, _, object_ in triples for end in (subject, object_))
        said[f"h#0.{number}"] = extraction([("Concept", title) for title in titles], triples)
    return [text for text, _ in turns], said


def memory_of(
    turns: Told,
    embedder: FakeHashEmbedder,
    *replies: str | CallFailed,
    profile: str = "improved",
    **changes: Any,
) -> HippoRAG:
    """A memory that has heard turns in one session, and filters facts by the replies."""
    fields = {**HippoRAG.profiles[profile], "text": "raw", **changes}
    models = Models(FakeChat(*replies or ('{"ids": []}',)), embedder)
    memory = HippoRAG(HippoRAG.Settings(**fields), models)
    texts, said = told(*turns)
    memory.remember(session(*texts), said)
    return memory


def asked(text: str = QUESTION) -> Query:
    return Query("q", "h", text)
