"""A context read as passages: the turns or the graph lines that it shows, cut into sentences."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from tasks.models.offline.chunker import Phrase, Word, clauses, phrases, words
from tasks.models.offline.tokens import content

_NODE = re.compile(
    r"^\[[A-Za-z]+\] (?P<title>[^({]+?)(?: \((?P<text>.*?)\))?(?: \{.*\})?(?P<said> \(said [^)]*\))?$"
)
_EDGE = re.compile(
    r"^(?P<source>.+?) --\[(?P<verb>[^{\]]*?)(?: \{(?P<attributes>.*)\})?\]--> (?P<target>.+?)"
    r"(?P<said> \(said [^)]*\))?$"
)
_ATTRIBUTE = re.compile(r"(?:^|, )(?:detail|raw_date|date_raw|date): ")
_DAY = re.compile(r"(\d{4})-(\d{2})-(\d{2})")
_TURN_DATE = re.compile(r"^\[(\d{4}-\d{2}-\d{2})\] ")
_TURN_BREAK = re.compile(r"\n\n---\n\n|\n\n(?=\[\d{4}-\d{2}-\d{2}\] )")


@dataclass(frozen=True)
class Passage:
    """A sentence of the context.

    Attributes:
        text: The sentence.
        place: Which turn or line it is from, counted from zero.
        day: The day of its session, where the context shows it.
    """

    text: str
    place: int
    day: date | None

    @cached_property
    def stems(self) -> list[str]:
        """Its stems that carry meaning."""
        return content(self.text)

    @cached_property
    def words(self) -> list[Word]:
        """Its words."""
        return words(self.text)

    @cached_property
    def phrases(self) -> list[Phrase]:
        """Its noun phrases."""
        return phrases(self.text, self.words)


def read(context: str) -> list[Passage]:
    """The passages of a context, in order; graph lines are written out as sentences, headings are dropped."""
    if context.startswith("Nodes:\n"):
        return [passage for place, line in enumerate(context.splitlines()) for passage in _line(line, place)]
    found = []
    for place, turn in enumerate(_TURN_BREAK.split(context)):
        dated = _TURN_DATE.match(turn)
        text = turn[dated.end() :] if dated else turn
        found += [Passage(clause, place, _day(dated.group(1)) if dated else None) for clause in clauses(text)]
    return found


def _line(line: str, place: int) -> list[Passage]:
    """A graph line as a passage; none for a heading."""
    if edge := _EDGE.match(line):
        attributes = _ATTRIBUTE.sub(" ", edge["attributes"] or "")
        text = f"{edge['source']} {edge['verb']} {edge['target']} {attributes}"
        return [Passage(" ".join(text.split()), place, _day(edge["said"] or ""))]
    if node := _NODE.match(line):
        return [Passage(node["text"] or node["title"], place, _day(node["said"] or ""))]
    return [] if line in {"Nodes:", "Edges:"} else [Passage(line, place, None)]


def _day(text: str) -> date | None:
    """The first ISO day in a text; none if there is none or the calendar has no such day."""
    match = _DAY.search(text)
    try:
        return date(*map(int, match.groups())) if match else None
    except ValueError:
        return None


def rank(passages: list[Passage], wanted: Collection[str]) -> list[tuple[float, Passage]]:
    """Passages by the summed inverse document frequency of the wanted stems, best first, ties in order.

    A passage also gets a part of what the rest of its turn covers, since an answer often stands in the sentence
    beside the one that names its subject; long passages are not penalised below sixteen words.
    """
    in_turn: dict[int, set[str]] = {}
    for passage in passages:
        in_turn.setdefault(passage.place, set()).update(passage.stems)
    spread = Counter(stem for stems in in_turn.values() for stem in stems)
    weights = {stem: math.log(1 + len(in_turn) / spread[stem]) for stem in set(wanted) if spread[stem]}
    total = sum(weights.values()) or 1.0
    scored = []
    for passage in passages:
        own = sum(weights[stem] for stem in weights.keys() & set(passage.stems))
        around = sum(weights[stem] for stem in weights.keys() & in_turn[passage.place])
        length = max(1.0, len(passage.stems) / 16) ** 0.3
        scored.append(((own / length + 0.5 * around) / (1.5 * total), passage))
    return sorted(scored, key=lambda entry: -entry[0])
