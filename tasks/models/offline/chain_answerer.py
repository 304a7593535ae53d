"""An answerer that follows facts from a question's subject to its answer, and is the extractive one for all else.

What it knows of a conflict is what the context says. Of numbered facts that give values for the same the one with the
highest number among those shown holds. Of a memory's entries only active ones hold. Where several do, with nothing to
tell which is later, it draws one by a hash of question and values: an order of entries says nothing of time, and to
believe the first would make every memory that shows the right one first look as if it had resolved the conflict.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from tasks.models.offline import answerer
from tasks.models.offline.chain import Fact, FactList
from tasks.models.offline.fact_lines import SourceLine, is_fact_list, read_line

_ENTRY = re.compile(r"\[\w{1,12} (active|deprecated|superseded)\] (.*)")
_RULE = "---"
_HELD = 4
"""How many contexts are held as they were read: a full context is the same for all questions of a history."""
_FORMERLY = re.compile(
    r"\b(?:before|previous(?:ly)?|former(?:ly)?|earlier|used to|prior|no longer)\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True)
class _Shown:
    """A line of a context, and whether the context says that it is no longer so."""

    line: SourceLine
    former: bool


def answer_request(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `answer`: from facts where the context is a list of them."""
    shown, facts = _read(inputs.get("context", "")) if not inputs.get("options") else ((), None)
    found = _followed(inputs["question"], shown, facts) if facts else ""
    return found or answerer.answer_request(inputs)


@lru_cache(maxsize=_HELD)
def _read(context: str) -> tuple[tuple[_Shown, ...], FactList | None]:
    """The facts of a context, with what it says of each; none if it is no list of facts."""
    shown = tuple(_facts(context))
    return shown, FactList([each.line.said for each in shown]) if shown else None


def _facts(context: str) -> list[_Shown]:
    """The facts of a context that is a numbered list or a memory's entries, earlier numbers first; else none."""
    lines = [line for line in context.splitlines() if line.strip() and line.strip() != _RULE]
    entries = [_ENTRY.fullmatch(line) for line in lines]
    if lines and all(entries):
        shown = [_Shown(read_line(entry[2]), entry[1] != "active") for entry in entries if entry]
        if all(each.line.speaker == "" or each.line.number is not None for each in shown):
            return sorted(shown, key=lambda each: each.line.number or 0)
        return []
    listed = [read_line(line) for line in lines]
    if not is_fact_list(listed):
        return []
    return sorted((_Shown(line, former=False) for line in listed), key=lambda each: each.line.number or 0)


def _followed(question: str, shown: Sequence[_Shown], facts: FactList) -> str:
    """The value at the end of the chain, or for a question about the past the one before it; empty without a chain."""

    def holding(slot: Sequence[Fact]) -> Sequence[Fact]:
        current = [fact for fact in slot if not shown[fact.place].former] or list(slot)
        if all(shown[fact.place].line.number is not None for fact in current):
            return current[-1:]
        return [_drawn(question, current)]

    way = facts.best(question, holding)
    if not way.taken:
        return ""
    last = way.taken[-1]
    before = [fact for fact in way.slots[-1] if _is_before(fact, last, shown)]
    return before[-1].object if before and _FORMERLY.search(question) else last.object


def _is_before(fact: Fact, last: Fact, shown: Sequence[_Shown]) -> bool:
    """Whether a fact is known to be older than another of its slot."""
    numbered = shown[fact.place].line.number is not None and fact.place < last.place
    return fact.object != last.object and (numbered or shown[fact.place].former)


def _drawn(question: str, facts: Sequence[Fact]) -> Fact:
    """One of several facts of a slot, each distinct value as likely as the others."""
    by_value = {fact.object: fact for fact in facts}
    values = sorted(by_value)
    digest = hashlib.sha256("\n".join([question, *values]).encode("utf-8", "surrogatepass")).digest()
    return by_value[values[int.from_bytes(digest[:8], "big") % len(values)]]
