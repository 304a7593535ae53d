"""The labelled pairs of the threshold probe (paper, appendix A.5), and which of them choose and which report.

`probe_pairs.jsonl` has one family a line: descriptors of one entity and of what is easily taken for it, and what a
question would ask for. All its pairs share that entity, so a family is split from others and never within.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Literal, TypedDict

SEED = 0
"""Of the split into halves."""

Purpose = Literal["dedup", "floor"]
Half = Literal["choose", "report"]


@dataclass(frozen=True, slots=True)
class Pair:
    """Two descriptors, as the graph would compare them.

    Attributes:
        family: The entity that the pair is about.
        half: Whether the pair has a say in the choice of a threshold, or only reports what was chosen.
        purpose: `dedup`: two nodes; `floor`: an entity of a question and a node.
        match: Whether they name one entity, or whether the node is what the question asks for.
        kind: What makes them hard to tell apart, such as `same surname`.
    """

    family: str
    half: Half
    purpose: Purpose
    match: bool
    kind: str
    a: str
    b: str


class _Family(TypedDict):
    """A line of the file: the entity, paraphrases, near misses with their kinds, and what a question makes of it."""

    entity: str
    same: list[str]
    near: list[tuple[str, str]]
    asked: str
    node: str
    beside: str


@lru_cache(maxsize=1)
def pairs() -> tuple[Pair, ...]:
    """All pairs: of each family two paraphrases, two near misses, a node asked for and one merely beside it."""
    families: list[_Family] = [json.loads(line) for line in _text().splitlines()]
    # By hash, not by a random generator: the split is the same with every version of every library.
    order = sorted((f["entity"] for f in families), key=lambda name: _hash(f"{SEED} {name}"))
    choosing = set(order[: len(order) // 2])
    return tuple(
        Pair(f["entity"], "choose" if f["entity"] in choosing else "report", *rest)
        for f in families
        for rest in _of_family(f)
    )


def probe_hash() -> str:
    """Which pairs these are: the first digits of the SHA-256 of their file."""
    return _hash(_text())[:12]


def _text() -> str:
    return (files("tasks") / "probe_pairs.jsonl").read_text("utf-8")


def _hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _of_family(family: _Family) -> Iterator[tuple[Purpose, bool, str, str, str]]:
    """The pairs of a family, without what they have in common."""
    for other in family["same"]:
        yield "dedup", True, "paraphrase", family["entity"], other
    for kind, other in family["near"]:
        yield "dedup", False, kind, family["entity"], other
    yield "floor", True, "asked for", family["asked"], family["node"]
    yield "floor", False, "beside it", family["asked"], family["beside"]
