"""Versioned attribute values: what was said, when, in which turn, how surely; and which value stands."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from memory.extraction import Scalar
from memory.profiles import MergeRule


@dataclass(frozen=True, slots=True)
class Version:
    """One value of an attribute.

    Attributes:
        value: The value.
        time: Date of the session that it was said in.
        turn: Id of the turn that it was said in.
        confidence: What the extractor said of it, where it said something.
    """

    value: Scalar
    time: datetime | None
    turn: str
    confidence: float | None = None


Attributes = dict[str, list[Version]]
"""The versions of each attribute. The last stands; those before it are its history, in the order they
came."""


def versions(said: Mapping[str, Scalar], time: datetime | None, turn: str) -> dict[str, Version]:
    """The attributes of one record, with their origin and the record's own `confidence` if it is a number."""
    own = said.get("confidence")
    confidence = float(own) if isinstance(own, int | float) and not isinstance(own, bool) else None
    return {name: Version(value, time, turn, confidence) for name, value in said.items()}


def current(attributes: Attributes) -> dict[str, Scalar]:
    """The values that stand."""
    return {name: held[-1].value for name, held in attributes.items()}


def merge_attributes(
    held: Attributes, new: Mapping[str, Version], rule: MergeRule, *, keep_history: bool
) -> None:
    """Merge new values into an entity's attributes, in place.

    A value that is only said again makes no new version; where the rule prefers the new saying, the version
    takes its time and turn.
    """
    for name, version in new.items():
        standing = held.setdefault(name, [version])
        if standing[-1] is version:
            continue
        wins = _wins(version, standing[-1], rule)
        if keep_history and not same_value(version.value, standing[-1].value):
            standing.insert(len(standing) if wins else len(standing) - 1, version)
        elif wins:
            standing[-1] = version


def same_value(a: Scalar, b: Scalar) -> bool:
    """Equality that tells true from 1 and 1 from 1.0, as a table does."""
    return type(a) is type(b) and a == b


def _wins(new: Version, old: Version, rule: MergeRule) -> bool:
    """Whether the new value stands.

    Without two confidences to compare the old value stands (paper, section 5). A value without a time is
    older than every value that has one; of two values of the same time, the later in order stands.
    """
    if rule == "new_wins":
        return True
    if rule == "old_wins":
        return False
    if rule == "higher_confidence_else_old":
        return new.confidence is not None and old.confidence is not None and new.confidence > old.confidence
    if new.time is None or old.time is None:
        return old.time is None
    return new.time >= old.time
