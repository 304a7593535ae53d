"""Retention policies by name: each scores every item, and a limit (`limits`) says how many of the lowest go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Literal, Protocol, TypeVar

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from memory.errors import BadInput
from memory.forgetting import decays, importance
from memory.forgetting.decays import EbbinghausSettings, FadeMemSettings, MemoryStreamSettings
from memory.forgetting.importance import TERMS, ImportanceSettings
from memory.forgetting.limits import complaint
from memory.forgetting.pagerank import PageRankSettings, pagerank
from memory.forgetting.states import Clock, Counts, Doubles, Mask, Scored, States

Settings = TypeVar("Settings", bound=BaseModel)
Build = Callable[[str, Mapping[str, Any]], "RetentionPolicy"]


class RetentionPolicy(Protocol):
    """Scores all items of a memory; what scores lowest is forgotten first."""

    @property
    def name(self) -> str:
        """The name it is registered under."""

    @property
    def settings(self) -> BaseModel:
        """What it was built with."""

    @property
    def reads(self) -> frozenset[str]:
        """Which of the costly columns of `States` it looks at: `edges`, `vectors`."""

    @property
    def random(self) -> bool:
        """Whether its scores differ from draw to draw."""

    def score(self, states: States, clock: Clock, draw: int = 0, like: Mask | None = None) -> Scored:
        """Score every item, higher is kept longer; all scores are finite, and within [0, 1] if terms are.

        Args:
            states: The items.
            clock: When the pass happens.
            draw: Which of the independent random orders; other policies have one order and do not look.
            like: `(n,)`, what another policy forgets, to be matched; only the random policies look.
        """


class RandomSettings(BaseModel):
    """Settings of the random policies."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    seed: int = Field(0, ge=0)


class OrderSettings(BaseModel):
    """Settings of the policies that go by order alone."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    by: Literal["time", "turns"] = "time"
    """Whether the order is that of the conversations' dates (unknown ones first), or of the turn counter: where
    sessions are not fed in order of time, they differ."""


@dataclass(frozen=True, slots=True)
class _Rule:
    """A policy that is one function of the columns, the clock and its settings."""

    name: str
    settings: BaseModel
    rule: Callable[[States, Clock, Any], Scored]
    reads: frozenset[str] = frozenset()
    random: ClassVar[bool] = False

    def score(self, states: States, clock: Clock, draw: int = 0, like: Mask | None = None) -> Scored:
        """See the function."""
        return self.rule(states, clock, self.settings)


@dataclass(frozen=True, slots=True)
class _Random:
    """A random order, stratified or not.

    With `like`, each stratum gives up as many items as it does there: exactly those score below 0.5. Without, each
    stratum gives up the same share of its items at any limit.
    """

    name: str
    settings: RandomSettings
    strata: Callable[[States], Counts]
    reads: ClassVar[frozenset[str]] = frozenset()
    random: ClassVar[bool] = True

    def score(self, states: States, clock: Clock, draw: int = 0, like: Mask | None = None) -> Scored:
        """Uniform scores that depend on the seed, the draw and the strata alone."""
        chance = np.random.default_rng([self.settings.seed, draw]).random(len(states))
        stratum = self.strata(states)
        place, size = _places(chance, stratum)
        if like is None:
            return Scored((place + chance) / size, {})
        matched = np.bincount(stratum, weights=like, minlength=1)[stratum]
        return Scored(np.where(place < matched, chance / 2, 0.5 + chance / 2), {})


@dataclass(frozen=True, slots=True)
class _Order:
    """First in or first used, first out. The score is the share of the items that come before."""

    name: str
    settings: OrderSettings
    used: bool
    reads: ClassVar[frozenset[str]] = frozenset()
    random: ClassVar[bool] = False

    def score(self, states: States, clock: Clock, draw: int = 0, like: Mask | None = None) -> Scored:
        """By creation, or by last access with creation where there is none."""
        if self.settings.by == "time":
            times = importance.last_seen(states) if self.used else states.created_at
            keys = np.where(
                np.isnat(times), np.iinfo(np.int64).min, times.astype("datetime64[us]").astype(np.int64)
            )
        else:
            keys = -importance.turns_since(states, clock, from_creation=not self.used).astype(np.int64)
        return Scored(_items_before(keys) / max(len(states), 1), {})


def policy(name: str, settings: Mapping[str, Any] | None = None) -> RetentionPolicy:
    """The policy of a name, with settings other than its defaults.

    Raises:
        BadInput: If there is none of that name, or a setting is refused; the field is named.
    """
    if name not in POLICIES:
        raise BadInput(f"no retention policy is named {name}; there are: {', '.join(POLICIES)}")
    return POLICIES[name](name, settings or {})


def _checked(kind: type[Settings], name: str, given: Mapping[str, Any]) -> Settings:
    try:
        return kind(**given)
    except ValidationError as error:
        raise BadInput(f"policy {name}: {complaint(error)}") from error


def _only(kept: tuple[str, ...], name: str, given: Mapping[str, Any]) -> RetentionPolicy:
    """Importance of some of its terms, whose weights are scaled to sum to 1."""
    base = _checked(ImportanceSettings, name, given)
    total = sum(base.weights[term] for term in kept)
    if total <= 0:
        raise BadInput(
            f"policy {name}: {', '.join(kept)}: the weights are zero, so that nothing is left to go by"
        )
    weights = {term: base.weights[term] / total if term in kept else 0.0 for term in TERMS}
    return _Rule(name, ImportanceSettings(**{**base.model_dump(), **weights}), importance.score)


def _rule(
    kind: type[BaseModel],
    rule: Callable[[States, Clock, Any], Scored],
    reads: tuple[str, ...],
    name: str,
    given: Mapping[str, Any],
) -> RetentionPolicy:
    return _Rule(name, _checked(kind, name, given), rule, frozenset(reads))


def _random(strata: Callable[[States], Counts], name: str, given: Mapping[str, Any]) -> RetentionPolicy:
    return _Random(name, _checked(RandomSettings, name, given), strata)


def _order(used: bool, name: str, given: Mapping[str, Any]) -> RetentionPolicy:
    return _Order(name, _checked(OrderSettings, name, given), used)


def _items_before(keys: Counts) -> Doubles:
    """How many items have a smaller key than each."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    first = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(keys)]
    before = np.empty(len(keys))
    before[order] = np.maximum.accumulate(np.where(first, np.arange(len(keys)), 0))
    return before


def _places(chance: Doubles, stratum: Counts) -> tuple[Counts, Counts]:
    """Each item's random place within its stratum, from 0, and the stratum's size."""
    sizes = np.bincount(stratum, minlength=1)
    order = np.lexsort((chance, stratum))
    place = np.empty(len(chance), np.int64)
    first = np.cumsum(sizes) - sizes
    place[order] = np.arange(len(chance)) - first[stratum[order]]
    return place, sizes[stratum].astype(np.int64)


def _one_stratum(states: States) -> Counts:
    return np.zeros(len(states), np.int64)


def _degree_class(states: States) -> Counts:
    """The degree itself up to 9, then a class for each doubling: hubs are compared with hubs."""
    degree = states.degree
    doubled: Counts = np.log2(np.maximum(degree, 1) / 10).astype(np.int64)
    return np.where(degree < 10, degree, 10 + doubled)


def _label(states: States) -> Counts:
    return states.label


POLICIES: Mapping[str, Build] = {
    "importance": partial(_rule, ImportanceSettings, importance.score, ()),
    **{term: partial(_only, (term,)) for term in TERMS},
    **{f"without_{term}": partial(_only, tuple(t for t in TERMS if t != term)) for term in TERMS},
    "random": partial(_random, _one_stratum),
    "random_by_degree": partial(_random, _degree_class),
    "random_by_label": partial(_random, _label),
    "oldest": partial(_order, False),
    "least_recently_used": partial(_order, True),
    "pagerank": partial(_rule, PageRankSettings, pagerank, ("edges",)),
    "fademem": partial(_rule, FadeMemSettings, decays.fademem, ("vectors",)),
    "memory_stream": partial(_rule, MemoryStreamSettings, decays.memory_stream, ("vectors",)),
    "ebbinghaus": partial(_rule, EbbinghausSettings, decays.ebbinghaus, ()),
}
"""How to build each policy, by its name."""
