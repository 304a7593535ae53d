"""`palimpsest list WHAT`: what a study can be made of, and what the tables of a run hold."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from rich import box
from rich.table import Table
from rich.text import Text

from flows.console import print_table
from memory.errors import BadInput

Record = dict[str, Any]


def systems() -> list[Record]:
    """Memory systems, a third party's included."""
    from memory.systems import find, names

    found = {name: find(name) for name in names()}
    return [
        {
            "name": name,
            "about": (system.__doc__ or "").strip().splitlines()[0],
            "profiles": list(system.profiles),
        }
        for name, system in found.items()
    ]


def benchmarks() -> list[Record]:
    """Benchmarks, each with what it is."""
    from tasks.benchmarks import BENCHMARKS

    return [{"name": name, "about": benchmark.description} for name, benchmark in BENCHMARKS.items()]


def models() -> list[Record]:
    """Bundles of models, each with the model of every role."""
    from tasks.models.catalogue import ABOUT, BUNDLES

    return [
        {"name": name, "about": ABOUT[name], "models": bundle.model_dump()}
        for name, bundle in BUNDLES.items()
    ]


def policies() -> list[Record]:
    """Retention policies with their settings."""
    from memory.forgetting.policies import POLICIES, policy

    return [{"name": name, "settings": policy(name).settings.model_dump()} for name in POLICIES]


def tables() -> list[Record]:
    """The tables of a run."""
    from results.columns import documented

    return [{"name": table.name, "about": table.about} for table in documented().values()]


def columns(only: str | None) -> list[Record]:
    """The columns of one table, or of all.

    Raises:
        BadInput: If there is no such table.
    """
    from results.columns import documented

    if only is not None and only not in documented():
        raise BadInput(f"list columns: no table {only!r}; there are {', '.join(documented())}")
    return [
        {"table": name, "column": c.name, "type": c.type, "unit": c.unit, "meaning": c.meaning}
        for name, table in documented().items()
        if only in (None, name)
        for c in table.columns
    ]


_KINDS: dict[str, Callable[[], list[Record]]] = {
    "systems": systems,
    "benchmarks": benchmarks,
    "models": models,
    "policies": policies,
    "tables": tables,
}


def print_list(what: str, only: str | None, *, as_json: bool) -> None:
    """Print what there is of a kind.

    Args:
        what: One of `systems`, `benchmarks`, `models`, `policies`, `tables` and `columns`.
        only: Of columns, the table.
        as_json: Print an array of objects.

    Raises:
        BadInput: If `what` is none of these, or `only` is no table.
    """
    if what != "columns" and (what not in _KINDS or only is not None):
        raise BadInput(
            f"list {' '.join(filter(None, (what, only)))!r}: say {', '.join(_KINDS)} or columns [TABLE]"
        )
    records = columns(only) if what == "columns" else _KINDS[what]()
    if as_json:
        print(json.dumps(records))  # noqa: T201
        return
    print_table(_table(records))


def _table(records: list[Record]) -> Table:
    table = Table(box=box.SIMPLE)
    for name in records[0]:
        table.add_column(name, overflow="fold")
    for record in records:
        table.add_row(*(Text(_shown(value)) for value in record.values()))
    return table


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {held}" for name, held in value.items())
    return ", ".join(value) if isinstance(value, list) else str(value)
