"""The curator of RD-Forget without a language model: numbered facts by slot, conversations by sentence."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tasks.models.offline import told
from tasks.models.offline.chain import Fact, FactList
from tasks.models.offline.curation import Found, reply, resolved
from tasks.models.offline.fact_lines import SourceLine, is_fact_list, read_line

_HELD = 64
"""How many sources are held as they were read: 18,332 facts are 50 chunks, and a hundred questions read each."""


@dataclass(frozen=True, slots=True)
class _Source:
    """Lines as they were read.

    Attributes:
        ids: The lines' ids.
        lines: Their parts.
        places: For each fact of the list, the place of its line; a number with nothing after it is no fact.
        facts: The facts in the order of their numbers; none if the lines are no list of facts.
    """

    ids: tuple[str, ...]
    lines: tuple[SourceLine, ...]
    places: tuple[int, ...] = ()
    facts: FactList | None = None


def curate(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `rd_curate`.

    Where the reply's cap has no room for all, facts that hold go before those that were replaced, and of either the
    nearest to the question, or without a question the latest.
    """
    source = _read(inputs["lines"])
    if source.facts is None:
        slots = told.slots(source.lines, inputs["question"], inputs["evidence"])
    else:
        listed = _slots(source.facts, inputs["question"], inputs["evidence"])
        slots = [[Found(source.places[fact.place], fact.text, fact.slot) for fact in slot] for slot in listed]
    return reply(source.ids, resolved(slots), inputs)


@lru_cache(maxsize=_HELD)
def _read(written: str) -> _Source:
    """The lines of a request, which are a JSON list of `[id, text]`."""
    pairs = [(str(id), str(text)) for id, text in json.loads(written)]
    ids, lines = tuple(id for id, _ in pairs), tuple(read_line(text) for _, text in pairs)
    if not is_fact_list(lines):
        return _Source(ids, lines)
    numbered = [
        (line.number, place) for place, line in enumerate(lines) if line.number is not None and line.said
    ]
    places = tuple(place for _, place in sorted(numbered))
    return _Source(ids, lines, places, FactList([lines[place].said for place in places]))


def _slots(facts: FactList, question: str, evidence: str) -> Iterable[Sequence[Fact]]:
    """The slots that evidence of a kind consists of, the nearest to the question first.

    `chain` follows the question from its subject to its answer; if there is no way, it is all that is known of the
    subject. `direct` is what the question itself names: relations of the subjects that stand in it.
    """
    if evidence == "general":
        return sorted(facts.slots.values(), key=lambda slot: -slot[-1].place)
    if evidence == "direct":
        return facts.direct(question)
    way = facts.best(question, _newest)
    return way.slots or [facts.slots[slot] for name in facts.named(question) for slot in facts.about[name]]


def _newest(slot: Sequence[Fact]) -> Sequence[Fact]:
    return slot[-1:]
