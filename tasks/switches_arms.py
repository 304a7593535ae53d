"""The arms of the switch table: settings of the graph memory, each a profile with one of its fields moved."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, get_args

from memory.profiles import GRAPH_PROFILES, RETRIEVAL_FIELDS, GraphSettings, MergeRule
from results.switches import Switched
from tasks.study import Condition, Study

BASES = tuple(GRAPH_PROFILES)
WIDE = 200
"""Nodes that a search may find where the cap on nodes is lifted."""
NO_FLOOR = -1.0
SWEPT: Mapping[str, tuple[Any, ...]] = {
    "roots": (1, 2, 3, 5, 8, 10, 15, 20),
    "hops": (0, 1, 2, 3, 4),
    "max_nodes": (5, 10, 15, 25, 50, 100),
    "max_edges": (0, 10, 20, 40, 80, None),
}
_AROUND = {
    "retrieval_floor": (-0.2, -0.1, -0.05, 0.05, 0.1, 0.2),
    "dedup_threshold": (-0.1, -0.05, 0.03, 0.06),
}
"""Cosines to try, as distances from the embedder's calibrated value."""
HOPS_WIDE = "hops_wide"
"""Name of the sweep of `hops` where the cap on nodes is lifted: within it, a third hop has no room."""


@dataclass(frozen=True)
class Arm:
    """A profile with one field moved; the profile itself has neither field nor changes.

    Attributes:
        base: The profile.
        field: Which field is moved, or `HOPS_WIDE`.
        value: Where to.
        changes: What that changes of the profile's settings.
    """

    base: str
    field: str = ""
    value: Any = None
    changes: Mapping[str, Any] | None = None

    def settings(self, bases: Mapping[str, Mapping[str, Any]]) -> GraphSettings:
        """The full settings of the memory."""
        return GraphSettings(**{**bases[self.base], **(self.changes or {})})

    @property
    def key(self) -> dict[str, str]:
        """What names it in tables: base, field and value, which is JSON."""
        return {"base": self.base, "field": self.field, "value": json.dumps(self.value)}


def bases_of(study: Study) -> dict[str, dict[str, Any]]:
    """The full settings of both profiles, with the thresholds of the study's first graph, which may set its own.

    Raises:
        BadInput: As `Study.arm`.
    """
    graph = next(condition for condition in study.conditions if condition.system == "graph")
    resolved = study.arm(graph)["settings"]
    thresholds = {name: resolved[name] for name in _AROUND}
    return {
        name: study.arm(Condition(system="graph", profile=name, settings=thresholds))["settings"]
        for name in BASES
    }


def differing(bases: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """The fields in which the two profiles differ, in the order in which they are declared."""
    one, other = (bases[name] for name in BASES)
    return [name for name in GraphSettings.model_fields if one[name] != other[name]]


def arms(bases: Mapping[str, Mapping[str, Any]]) -> list[Arm]:
    """All arms of both profiles, none twice."""
    return [arm for base in BASES for arm in _arms(base, bases)]


def _arms(base: str, bases: Mapping[str, Mapping[str, Any]]) -> list[Arm]:
    """The profile; each field as the other profile has it; every merge rule; the sweep."""
    mine = bases[base]
    (other,) = (bases[name] for name in BASES if name != base)
    moved: dict[str, list[Any]] = {name: [other[name]] for name in differing(bases)}
    for name, values in {"merge": get_args(MergeRule), **_swept(mine)}.items():
        moved.setdefault(name, []).extend(value for value in values if value not in moved.get(name, []))
    one_field = [
        Arm(base, name, value, {name: value})
        for name, values in moved.items()
        for value in values
        if value != mine[name]
    ]
    wide = [Arm(base, HOPS_WIDE, hops, {"hops": hops, "max_nodes": WIDE}) for hops in SWEPT["hops"][1:]]
    return [Arm(base), *one_field, *wide]


def _swept(settings: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    around = {
        name: tuple(round(settings[name] + step, 4) for step in steps if settings[name] + step < 1)
        for name, steps in _AROUND.items()
    }
    around["retrieval_floor"] = (NO_FLOOR, *around["retrieval_floor"])
    around["dedup_threshold"] = (*around["dedup_threshold"], 1.0)
    return {**SWEPT, **around}


def build_key(settings: GraphSettings) -> str:
    """What settings say of building: arms that share it share one memory."""
    return settings.model_dump_json(exclude=set(RETRIEVAL_FIELDS))


def named(bases: Mapping[str, Mapping[str, Any]]) -> list[Switched]:
    """The arms as tables name them, without the profiles themselves, and which table shows each."""
    return [_named(arm, bases) for arm in arms(bases) if arm.field]


def _named(arm: Arm, bases: Mapping[str, Mapping[str, Any]]) -> Switched:
    (other,) = (bases[name] for name in BASES if name != arm.base)
    uses = {
        "switch": arm.field in differing(bases) and arm.value == other[arm.field],
        "rule": arm.field == "merge",
        "sweep": arm.field in (*SWEPT, *_AROUND, HOPS_WIDE),
    }
    own = json.dumps(bases[arm.base][arm.field]) if arm.field in bases[arm.base] else ""
    shown_in = frozenset(use for use, applies in uses.items() if applies)
    return Switched(arm.base, arm.field, json.dumps(arm.value), own, shown_in)
