"""What the offline curators find, and the reply that it is written in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, takewhile

from memory import tokens

_CAP = 4_096
"""Tokens of a reply where the request names no cap."""
_FORM = 32
"""Tokens kept for the brackets and the names of the lists."""


@dataclass(frozen=True, slots=True)
class Found:
    """A fact that a curator has found.

    Attributes:
        place: The place of its line, from 0.
        statement: What it says.
        slot: What it gives a value for.
        validity: When it was said; may be empty.
        replaced: Whether a later fact has come in its slot.
    """

    place: int
    statement: str
    slot: str
    validity: str = ""
    replaced: bool = False


def resolved(slots: Iterable[Sequence[Found]]) -> list[Found]:
    """The latest fact of each slot, and after all of them those that they replaced, the latest first.

    Facts of a slot are given in the order of the lines; one that says the same as the latest is left out.
    """
    given = list(slots)
    former = [
        replace(fact, replaced=True)
        for facts in given
        for fact in reversed(facts[:-1])
        if fact.statement != facts[-1].statement
    ]
    return [*(facts[-1] for facts in given), *former]


def reply(ids: Sequence[str], found: Iterable[Found], inputs: Mapping[str, str]) -> str:
    """The reply to `rd_curate`, with as many facts as its cap has room for: of those given, the first.

    Both lists are in the order of the lines, as the prompt asks.
    """
    given = list(found)
    records = [_record(ids[fact.place], fact) for fact in given]
    kept = sorted(range(fitting(records, inputs)), key=lambda rank: given[rank].place)
    lists = {
        name: [records[rank] for rank in kept if given[rank].replaced == replaced]
        for name, replaced in (("active", False), ("replaced", True))
    }
    return json.dumps(lists, ensure_ascii=False)


def fitting(members: Sequence[object], inputs: Mapping[str, str]) -> int:
    """How many members of a JSON reply its cap (`reply_tokens`) has room for; a model's reply ends there as well."""
    room = int(inputs.get("reply_tokens", _CAP)) - _FORM
    sizes = (tokens.count(json.dumps(member, ensure_ascii=False)) + 1 for member in members)
    return sum(1 for _ in takewhile(lambda used: used <= room, accumulate(sizes)))


def _record(id: str, fact: Found) -> dict[str, str]:
    return {"statement": fact.statement, "slot": fact.slot, "source": id, "validity": fact.validity}
