"""From a question's subject to its answer, relation by relation, over a list of facts.

A hop goes from a name to the facts about it of one relation. Of all ways of up to four hops, the one is followed whose
relations have most of the question's words in them, and fewest others. One hop may be left out by the question: the
country that a club comes from is the one that its sport comes from.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from tasks.models.offline.frames import parse
from tasks.models.offline.relations import asked, meanings, told

_HOPS = 4
_WIDTH = 6
"""How many relations of a name are tried at each hop, the best first."""
_SILENT = 0.2
"""What a hop over a relation costs that the question leaves out; a way has one at most, and not at its end."""
_STRAY = 0.3
"""What a relation loses for each of its words that the question does not have."""
_WORD = re.compile(r"\w+|[^\w\s]")
_LONGEST = 16
"""Words of the longest name that is looked for in a question."""


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact of a list.

    Attributes:
        place: Its place in the list, from 0.
        text: The statement.
        subject: What it is about; empty where no frame fits.
        relation: Its frame.
        object: The value that it gives.
    """

    place: int
    text: str
    subject: str = ""
    relation: str = ""
    object: str = ""

    @property
    def slot(self) -> str:
        """What it gives a value for, as `subject|relation|scope`; a fact without parts is in a slot of its own."""
        return f"{key(self.subject)}|{self.relation}|" if self.subject else f"{key(self.text)}||"


Pick = Callable[[Sequence[Fact]], Sequence[Fact]]
"""Which of the facts of a slot, in the order of the list, are followed."""


@dataclass(frozen=True, slots=True)
class Way:
    """Hops from a question's subject.

    Attributes:
        slots: The facts of each hop's slot, in the order of the list.
        taken: The facts that were followed, one a hop.
        score: How well it fits the question.
        silent: Whether one of its hops is over a relation that the question does not mention.
    """

    slots: tuple[tuple[Fact, ...], ...] = ()
    taken: tuple[Fact, ...] = ()
    score: float = 0.0
    silent: bool = False


class FactList:
    """Facts by subject and relation."""

    def __init__(self, texts: Sequence[str]) -> None:
        parts = parse(texts)
        self.facts = [
            Fact(place, text, part.subject, part.relation, part.object) if part else Fact(place, text)
            for place, (text, part) in enumerate(zip(texts, parts, strict=True))
        ]

    @cached_property
    def slots(self) -> dict[str, list[Fact]]:
        """The facts of each slot, in the order of the list."""
        found: defaultdict[str, list[Fact]] = defaultdict(list)
        for fact in self.facts:
            found[fact.slot].append(fact)
        return dict(found)

    @cached_property
    def about(self) -> dict[str, list[str]]:
        """The slots of each subject, found as well by its name alone: a short list teaches no `_ government`."""
        found: defaultdict[str, list[str]] = defaultdict(list)
        for slot, facts in self.slots.items():
            subject = facts[0].subject
            named = _name_alone(subject) if facts[0].relation.startswith("the ") else subject
            for name in dict.fromkeys(filter(None, [key(subject), key(named)])):
                found[name].append(slot)
        return dict(found)

    def named(self, question: str) -> list[str]:
        """The subjects that a question names, the longest first; none within another."""
        words = key(question).split()
        taken: set[int] = set()
        found = []
        for length in range(min(len(words), _LONGEST), 0, -1):
            for start in range(len(words) - length + 1):
                name = " ".join(words[start : start + length])
                places = set(range(start, start + length))
                if name in self.about and not taken & places:
                    taken |= places
                    found.append(name)
        return list(dict.fromkeys(found))

    def ways(self, question: str, pick: Pick) -> Iterator[Way]:
        """The ways from each subject that the question names."""
        for name in self.named(question):
            wanted = asked(_without(question, name))
            yield from self._onward(name, wanted, Way(), pick, frozenset({name}))

    def best(self, question: str, pick: Pick) -> Way:
        """The way that fits a question best, of equals the first; one without hops if none fits."""
        return max(self.ways(question, pick), key=lambda way: way.score, default=Way())

    def direct(self, question: str) -> list[list[Fact]]:
        """The slots of the subjects that a question names whose relation it names too, the best first."""
        found = [
            (gain, slot)
            for name in self.named(question)
            for slot, _, gain in self._next(name, asked(_without(question, name)), silent=False)
        ]
        return [self.slots[slot] for _, slot in sorted(found, key=lambda hop: -hop[0])]

    def _onward(
        self, name: str, wanted: frozenset[str], way: Way, pick: Pick, seen: frozenset[str]
    ) -> Iterator[Way]:
        if len(way.taken) == _HOPS:
            return
        for slot, covered, gain in self._next(name, wanted, silent=not way.silent):
            facts = tuple(self.slots[slot])
            for fact in pick(facts):
                then = key(fact.object)
                longer = Way(
                    (*way.slots, facts), (*way.taken, fact), way.score + gain, way.silent or not covered
                )
                if covered:
                    yield longer
                if then not in seen:
                    yield from self._onward(then, wanted - covered, longer, pick, seen | {then})

    def _next(
        self, name: str, wanted: frozenset[str], *, silent: bool
    ) -> list[tuple[str, frozenset[str], float]]:
        """The slots of a name that may be the next hop, the words that they cover, and their gain, best first."""
        found = []
        for slot in self.about.get(name, ()):
            relation = self.slots[slot][0].relation
            covered = wanted & told(relation)
            stray = sum(wanted.isdisjoint(word) for word in meanings(relation))
            if covered or silent:
                found.append((slot, covered, (len(covered) or -_SILENT) - _STRAY * stray))
        return sorted(found, key=lambda hop: -hop[2])[:_WIDTH]


def key(name: str) -> str:
    """A name as it is compared: words and marks in lower case, without an article before it."""
    words = _WORD.findall(name.casefold())
    return " ".join(words[1:] if words[:1] == ["the"] and len(words) > 1 else words)


def _name_alone(subject: str) -> str:
    """A subject without the words in small letters at its end; as it is if it has no others."""
    words = subject.split()
    last = next((place for place in range(len(words), 0, -1) if not words[place - 1].islower()), len(words))
    return " ".join(words[:last])


def _without(question: str, name: str) -> str:
    return f" {key(question)} ".replace(f" {name} ", " ", 1)
