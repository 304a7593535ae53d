"""In which fields two runs are not the same study."""

from __future__ import annotations

import json
from typing import Any

from tasks.runs import Run
from tasks.study import NOT_IDENTITY

_SHOWN = 8
_LONGEST = 60


def differences(there: Run, here: Run) -> dict[str, tuple[str, str]]:
    """The fields that make two runs different, by dotted name, each as it is there and here, in JSON.

    Conditions are matched by name. The settings that a condition's profile stands for are compared only where the
    condition itself is the same: they differ, then, because the program has changed.
    """
    old, new = _identity(there), _identity(here)
    fields = [name for name in dict.fromkeys((*old, *new)) if old.get(name) != new.get(name)]
    changed = {name.split(".")[1] for name in fields if name.startswith("conditions.")}
    told = [name for name in fields if not (name.startswith("arms.") and name.split(".")[1] in changed)]
    return {name: (_shown(old, name), _shown(new, name)) for name in told}


def one_line(found: dict[str, tuple[str, str]]) -> str:
    """Differences as `field: there, here`, the first few of them."""
    if not found:
        return "it was made by another version of this program"
    told = [f"{field}: {there} there, {here} here" for field, (there, here) in list(found.items())[:_SHOWN]]
    more = len(found) - len(told)
    return "; ".join([*told, *([f"and {more} more fields"] if more else [])])


def _identity(run: Run) -> dict[str, Any]:
    study = run.study.model_dump(mode="json", exclude=set(NOT_IDENTITY))
    study["conditions"] = {condition["name"]: condition for condition in study["conditions"]}
    arms = {arm["name"]: arm.get("settings", {}) for arm in run.arms}
    return _flat({**study, "arms": arms, "data": {"sha256": run.sha256}})


def _flat(fields: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Leaves by dotted name. An empty table is a leaf."""
    leaves: dict[str, Any] = {}
    for name, value in fields.items():
        if isinstance(value, dict) and value:
            leaves |= _flat(value, f"{prefix}{name}.")
        else:
            leaves[f"{prefix}{name}"] = value
    return leaves


def _shown(fields: dict[str, Any], name: str) -> str:
    """A value in plain letters: what stands in a run folder may come from anyone."""
    if name not in fields:
        return "not"
    text = json.dumps(fields[name], ensure_ascii=True)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
