"""Which utterances answer a question: topics, their neighbours, and down to the events (facts, section 14)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from memory.gam.factors import Cues
from memory.gam.graph import TwoLayers
from memory.gam.settings import GamSettings
from memory.models import Vectors
from memory.vectors import Doubles


@dataclass(frozen=True, slots=True)
class Ranking:
    """What a question brings up.

    Attributes:
        topics: Numbers of the topics reached, best first.
        reached: Places and scores of the utterances reached, best first.
        beyond: Of further ones, best first, whose scores lie below: by relevance minus 1.
    """

    topics: tuple[int, ...]
    reached: tuple[tuple[int, float], ...]
    beyond: tuple[tuple[int, float], ...]


def rank(
    graph: TwoLayers, settings: GamSettings, query: Vectors, question: str, asked: datetime | None
) -> Ranking:
    """Rank utterances for a question.

    The topics nearest to it and those linked to them are entered, and with them the buffer; their utterances are ranked
    by relevance times boosts, equal ones in their order. GAM's relevance is the probability of a cross-encoder [S], for
    which the cosine stands in where that is above 0, and without an event graph that of the topic.

    Args:
        graph: The memory.
        settings: Its settings.
        query: The question's vector, of unit length.
        question: Its text.
        asked: When it is asked, where that is known.
    """
    said = np.maximum(graph.utterance_cosines(query), 0.0)
    near = _topic_similarity(graph, settings, query, said)
    topics = _reached_topics(graph, settings, near)
    places = _entered(graph, settings, topics)
    relevance = said if settings.event_graph else _of_topics(graph, near)
    scores = relevance[places]
    if settings.multi_factor and settings.event_graph:
        scores = scores * _boosts(graph, settings, Cues(question, asked, graph.speakers), topics, places)
    reached = _sorted(places, scores)
    missing = max(0, settings.ranked - len(reached))
    rest = np.setdiff1d(np.arange(len(graph.utterances)), places)
    return Ranking(tuple(topics), reached, _sorted(rest, relevance[rest] - 1.0)[:missing])


def _topic_similarity(graph: TwoLayers, settings: GamSettings, query: Vectors, said: Doubles) -> Doubles:
    """Of each topic, from 0 to 1; `said` is that of each utterance."""
    near = np.maximum(graph.topic_cosines(query), 0.0)
    if settings.topic_similarity == "best_utterance" and graph.topics:
        firsts = [topic.first for topic in graph.topics]
        near = np.maximum(near, np.maximum.reduceat(said[: graph.active.start], firsts))
    return near


def _reached_topics(graph: TwoLayers, settings: GamSettings, near: Doubles) -> list[int]:
    """The nearest topics and those one link away, best first, equal ones by number; all where none are made."""
    order: list[int] = np.lexsort((np.arange(len(near)), -near)).tolist()
    if not settings.topics:
        return order
    top = order[: settings.top_topics]
    entered = {*top, *graph.linked(top)}
    return [number for number in order if number in entered]


def _entered(graph: TwoLayers, settings: GamSettings, topics: Sequence[int]) -> np.ndarray:
    """Places of the utterances of some topics and of the buffer, in order."""
    places = [place for number in topics for place in graph.topics[number].places]
    if settings.event_graph:
        places += graph.active
    return np.sort(np.asarray(places, np.intp))


def _of_topics(graph: TwoLayers, near: Doubles) -> Doubles:
    """Of every utterance, the similarity of its topic; 0 in the buffer."""
    relevance = np.zeros(len(graph.utterances))
    for topic, similarity in zip(graph.topics, near, strict=True):
        relevance[topic.first : topic.end] = similarity
    return relevance


def _boosts(
    graph: TwoLayers, settings: GamSettings, cues: Cues, topics: Sequence[int], places: np.ndarray
) -> Doubles:
    confidence = confidences(graph, topics)
    of_place = {place: confidence.get(n, 0.0) for n in topics for place in graph.topics[n].places}
    return np.array(
        [cues.boost(graph.utterances[place], of_place.get(place, 0.0), settings) for place in places.tolist()]
    )


def confidences(graph: TwoLayers, topics: Sequence[int]) -> Mapping[int, float]:
    """Of each topic reached that is linked to another one reached, the surest such link."""
    among = set(topics)
    return {number: sure for number, sure in graph.linked(topics).items() if number in among}


def _sorted(places: np.ndarray, scores: Doubles) -> tuple[tuple[int, float], ...]:
    order = np.lexsort((places, -scores))
    return tuple(zip(places[order].tolist(), scores[order].tolist(), strict=True))
