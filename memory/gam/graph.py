"""GAM's two layers: utterances in event graphs, topics in a network, and the evidence edges between them.

Utterances only ever come at the end. So an event graph is a run of utterances, each joined to the next in time, and the
evidence edges of a topic lead to its run; both follow from where runs end. What is stored beside are causal edges and
the links between topics.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from memory.models import Vectors
from memory.systems.turns import StoredTurn
from memory.vectors import Doubles, VectorIndex

_TOGETHER = 8_192
"""Vectors that are compared at once in double precision, so that a large store is never copied as a whole."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """A turn as a node of an event graph.

    Attributes:
        held: The turn, verbatim.
        sitting: Position of its session in the file's order.
        tokens: Of its text, as the buffer counts them.
        row: Of its vector; none where it has none.
    """

    held: StoredTurn
    sitting: int
    tokens: int
    row: int | None


@dataclass(frozen=True, slots=True)
class Topic:
    """An archived event graph, and what is said of it.

    Attributes:
        first: Place of its first utterance.
        end: Place after its last utterance.
        summary: Blank where there is none.
        row: Of its vector; none where it has none, so that no question finds it by similarity.
    """

    first: int
    end: int
    summary: str
    row: int | None

    @property
    def places(self) -> range:
        """The places of its utterances."""
        return range(self.first, self.end)


class TwoLayers:
    """Utterances, topics and all edges.

    Attributes:
        utterances: In the order they were heard.
        topics: In the order they came to be; by number.
        causes: Causal edges between utterances of one topic, as places `(cause, effect)`.
        links: Confidence of the links between topics, by their numbers, the lower first.
        vectors: Of utterances, by row.
        topic_vectors: Of topics, by row.
        speakers: Everybody who has spoken.
    """

    def __init__(self, dimensions: int) -> None:
        self.utterances: list[Utterance] = []
        self.topics: list[Topic] = []
        self.causes: list[tuple[int, int]] = []
        self.links: dict[tuple[int, int], float] = {}
        self.vectors = VectorIndex(dimensions)
        self.topic_vectors = VectorIndex(dimensions)
        self.speakers: set[str] = set()
        self._topic_of_row: list[int] = []

    # The event graph

    @property
    def active(self) -> range:
        """Places of the utterances in the buffer, which belong to no topic yet."""
        return range(self.topics[-1].end if self.topics else 0, len(self.utterances))

    @property
    def buffered(self) -> int:
        """Tokens of the buffer."""
        return sum(self.utterances[place].tokens for place in self.active)

    def append(self, held: StoredTurn, sitting: int, tokens: int, vector: Vectors | None) -> None:
        """Put an utterance at the end of the buffer."""
        row = None if vector is None else self.vectors.add(vector)
        self.utterances.append(Utterance(held, sitting, tokens, row))
        self.speakers.add(held.turn.speaker)

    def next_in_time(self) -> Iterator[tuple[int, int]]:
        """The temporal edges: from each utterance to the next of its event graph."""
        for places in (*(topic.places for topic in self.topics), self.active):
            yield from pairwise(places)

    # The topic network

    def close(
        self,
        end: int,
        summary: str = "",
        vector: Vectors | None = None,
        causes: Iterable[tuple[int, int]] = (),
    ) -> int:
        """Archive the buffer's utterances before a place as one topic, and return its number."""
        first = self.active.start
        row = None
        if vector is not None:
            row = self.topic_vectors.add(vector)
            self._topic_of_row.append(len(self.topics))
        self.topics.append(Topic(first, end, summary, row))
        self.causes += causes
        return len(self.topics) - 1

    def link(self, one: int, other: int, confidence: float) -> None:
        """Join two topics, or say anew how sure their link is."""
        self.links[min(one, other), max(one, other)] = confidence

    def nearest_topics(self, vector: Vectors, count: int) -> list[tuple[int, float]]:
        """Numbers and cosines of the topics nearest to a unit vector, best first."""
        rows, cosines = self.topic_vectors.nearest(vector, count)
        return [(self._topic_of_row[row], float(value)) for row, value in zip(rows, cosines, strict=True)]

    def linked(self, topics: Iterable[int]) -> Mapping[int, float]:
        """The topics that are linked to some of these topics, each with its surest link to one of them."""
        among = set(topics)
        found: dict[int, float] = {}
        for ends, confidence in self.links.items():
            for here, there in (ends, ends[::-1]):
                if here in among:
                    found[there] = max(found.get(there, 0.0), confidence)
        return found

    # Cosines

    def utterance_cosines(self, query: Vectors) -> Doubles:
        """Cosine of a unit vector with each utterance, `(utterances,)`; 0 where one has no vector."""
        return _by_row(self.vectors, [each.row for each in self.utterances], query)

    def topic_cosines(self, query: Vectors) -> Doubles:
        """Cosine of a unit vector with each topic, `(topics,)`; 0 where one has no vector."""
        return _by_row(self.topic_vectors, [each.row for each in self.topics], query)


def _by_row(vectors: VectorIndex, rows: list[int | None], query: Vectors) -> Doubles:
    found = np.zeros(len(rows))
    known = [(place, row) for place, row in enumerate(rows) if row is not None]
    for start in range(0, len(known), _TOGETHER):
        places, some = zip(*known[start : start + _TOGETHER], strict=True)
        found[list(places)] = vectors.exact(some, query)
    return found
