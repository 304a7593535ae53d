"""What is shown of a ranking: summaries of topics, and under each its utterances in order of time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.gam.graph import TwoLayers
from memory.gam.retrieval import Ranking
from memory.gam.settings import GamSettings
from memory.prompts.material import flat
from memory.systems.turns import RULE


@dataclass(frozen=True, slots=True)
class Shown:
    """A context.

    Attributes:
        text: As the answerer reads it.
        items: Its summaries and utterances.
        turns: On how many turns of the ranking, from the best on, it stands.
    """

    text: str
    items: int
    turns: int


def utterance_line(graph: TwoLayers, settings: GamSettings, place: int) -> str:
    """An utterance as a context shows it, on one line."""
    return flat(graph.utterances[place].held.shown(settings.text, date=settings.show_dates))


def summary_line(graph: TwoLayers, number: int) -> str:
    """A topic as a context shows it; empty where it has no summary."""
    summary = flat(graph.topics[number].summary)
    return f"Topic: {summary}" if summary else ""


def packed(graph: TwoLayers, settings: GamSettings, found: Ranking, words: int | None) -> Shown:
    """As much of a ranking as a number of words holds; it ends before the first that does not fit."""
    left = float("inf") if words is None else words
    return _events(graph, settings, found, left) if settings.event_graph else _summaries(graph, found, left)


def _events(graph: TwoLayers, settings: GamSettings, found: Ranking, left: float) -> Shown:
    """Utterances, best first, each topic's summary with the first of them; topics in the order they are met."""
    topic_of = {place: number for number in found.topics for place in graph.topics[number].places}
    parts: dict[int | None, tuple[str, dict[int, str]]] = {}
    taken = 0
    for place, _ in found.reached:
        number = topic_of.get(place)
        new = number not in parts
        summary = summary_line(graph, number) if new and number is not None else ""
        line = utterance_line(graph, settings, place)
        left -= len(summary.split()) + len(line.split())
        if left < 0:
            break
        parts.setdefault(number, (summary, {}))[1][place] = line
        taken += 1
    lines: list[str] = []
    for summary, said in parts.values():
        lines += [*filter(None, [summary]), *(said[place] for place in sorted(said))]
    return Shown(RULE.join(lines), len(lines), taken)


def _summaries(graph: TwoLayers, found: Ranking, left: float) -> Shown:
    """The summaries of topics, best first; the context stands on all their turns."""
    lines: list[str] = []
    turns = 0
    for number in found.topics:
        summary = summary_line(graph, number)
        left -= len(summary.split())
        if left < 0:
            break
        lines += filter(None, [summary])
        turns += len(graph.topics[number].places)
    return Shown(RULE.join(lines), len(lines), turns)


def ranked_turns(graph: TwoLayers, found: Ranking) -> Sequence[tuple[str, float]]:
    """Turn ids and scores of a ranking, best first."""
    return [(graph.utterances[place].held.turn.id, score) for place, score in (*found.reached, *found.beyond)]
