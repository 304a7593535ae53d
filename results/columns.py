"""What every column of every table of a run means, read from `columns.toml`, the one place that says it.

`python -m results.columns` prints it as Markdown: `results/COLUMNS.md` is that.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from typing import Any

GRAPHS = "graphs/"
"""Begins the names of the tables that lie in `graphs/<condition>/`."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table.

    Attributes:
        name: As in the file.
        type: As in the file: `string`, `bool`, `int32`, `int64`, `double`, `timestamp` (microseconds, UTC),
            `list<...>`; `category` is a string of few distinct values, `vector` a fixed-size list of float32.
        unit: What one is; empty for ids, names and texts. A `share` lies within [0, 1].
        meaning: One sentence.
    """

    name: str
    type: str
    unit: str
    meaning: str


@dataclass(frozen=True, slots=True)
class Documented:
    """A table of a run.

    Attributes:
        name: Name of the file without its ending; tables of a memory begin with `graphs/`.
        about: What a row is.
        columns: In the order of the file.
    """

    name: str
    about: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> Column | None:
        """The column of that name, if it is documented."""
        return next((column for column in self.columns if column.name == name), None)


@lru_cache(maxsize=1)
def documented() -> Mapping[str, Documented]:
    """All tables by name."""
    text = files("results").joinpath("columns.toml").read_text(encoding="utf-8")
    written = tomllib.loads(text)
    shared = written.pop("shared")
    return {
        name: Documented(name, table["about"], _columns(name, written, shared))
        for name, table in written.items()
    }


def _columns(table: str, written: Mapping[str, Any], shared: Mapping[str, Any]) -> tuple[Column, ...]:
    own = written[table]
    taken_over = _columns(own["like"], written, shared) if "like" in own else ()
    said = {name: shared[name] if told == "shared" else told for name, told in own.get("columns", {}).items()}
    return (*taken_over, *(Column(name, *told) for name, told in said.items()))


def markdown() -> str:
    """All tables as Markdown."""
    pages = ["# Tables of a run\n\nMade from `columns.toml` by `python -m results.columns`.\n"]
    for table in documented().values():
        lines = [
            f"## {table.name}\n",
            f"{table.about}\n",
            "| column | type | unit | meaning |",
            "|---|---|---|---|",
        ]
        lines += [f"| `{c.name}` | `{c.type}` | {c.unit} | {c.meaning} |" for c in table.columns]
        pages.append("\n".join(lines) + "\n")
    return "\n".join(pages)


if __name__ == "__main__":
    print(markdown(), end="")  # noqa: T201
