"""A playbook as Arrow tables, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, fields

import pyarrow as pa

from memory.errors import BadInput
from memory.playbook.building import Tally
from memory.playbook.bullets import SECTIONS, Bullet, Playbook
from memory.playbook.duplicates import Duplicates
from memory.tables import vector_column, vectors_of

_BULLET: dict[str, pa.DataType] = {
    "id": pa.string(),
    "section": pa.string(),
    "text": pa.string(),
    "helpful": pa.int64(),
    "harmful": pa.int64(),
    "turns": pa.list_(pa.field("element", pa.string())),
}
BULLETS = pa.schema(_BULLET)
_STATE: dict[str, pa.DataType] = dict.fromkeys(["number", *(f.name for f in fields(Tally))], pa.int64())
STATE = pa.schema(_STATE)
"""One row: the number given out last, and the tally."""


def to_tables(playbook: Playbook, tally: Tally, duplicates: Duplicates | None) -> dict[str, pa.Table]:
    """The tables `bullets`, oldest first, and `state`; where near duplicates are merged, `vectors` as well."""
    rows = [{name: getattr(bullet, name) for name in _BULLET} for bullet in playbook.bullets.values()]
    tables = {
        "bullets": pa.Table.from_pylist(rows, schema=BULLETS),
        "state": pa.Table.from_pylist([{"number": playbook.number, **asdict(tally)}], schema=STATE),
    }
    if duplicates is not None:
        ids, matrix = duplicates.kept()
        tables["vectors"] = pa.table({"bullet": pa.array(ids, pa.string()), "vector": vector_column(matrix)})
    return tables


def from_tables(tables: Mapping[str, pa.Table], duplicates: Duplicates | None) -> tuple[Playbook, Tally]:
    """The playbook of its tables, and its tally; `duplicates` is filled.

    Raises:
        BadInput: If they are not a playbook's, or do not fit one another.
    """
    wanted = {"bullets", "state"} | ({"vectors"} if duplicates is not None else set())
    if missing := wanted - tables.keys():
        raise BadInput(f"the memory lacks its table {min(missing)}; build it again")
    for name, schema in (("bullets", BULLETS), ("state", STATE)):
        if tables[name].schema.names != schema.names:
            raise BadInput(f"the memory's table {name} has other columns; build it again")
    bullets = [Bullet(**{**row, "turns": tuple(row["turns"])}) for row in tables["bullets"].to_pylist()]
    [state] = tables["state"].to_pylist()
    playbook = Playbook(bullets, state.pop("number"))
    if any(bullet.section not in SECTIONS for bullet in bullets):
        raise BadInput("the memory's table bullets names an unknown section; build it again")
    if duplicates is not None:
        _fill(duplicates, tables["vectors"], playbook)
    return playbook, Tally(**state)


def _fill(duplicates: Duplicates, table: pa.Table, playbook: Playbook) -> None:
    matrix = vectors_of(table, duplicates.vectors.dimensions)
    for id, vector in zip(table.column("bullet").to_pylist(), matrix, strict=True):
        if id not in playbook.bullets:
            raise BadInput("the memory's table vectors names an unknown bullet; build it again")
        duplicates.put(id, vector)
