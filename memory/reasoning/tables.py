"""A bank as Arrow tables, and back."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from memory.errors import BadInput
from memory.reasoning.bank import Bank, Item
from memory.tables import vector_column, vectors_of

_ITEM: dict[str, pa.DataType] = {
    "title": pa.string(),
    "description": pa.string(),
    "content": pa.string(),
    "success": pa.bool_(),
    "turns": pa.list_(pa.field("element", pa.string())),
}
ITEMS = pa.schema(_ITEM).insert(0, pa.field("experience", pa.int64()))
STATE = pa.schema({"failed": pa.int64()})
"""One row: calls of which there is no usable reply."""


def to_tables(bank: Bank, failed: int) -> dict[str, pa.Table]:
    """The tables `items`, oldest first, `vectors` and `state`."""
    rows = [
        {"experience": place, **{name: getattr(item, name) for name in _ITEM}}
        for place, experience in enumerate(bank.experiences)
        for item in experience
    ]
    places = pa.array(bank.places, pa.int64())
    return {
        "items": pa.Table.from_pylist(rows, schema=ITEMS),
        "vectors": pa.table({"experience": places, "vector": vector_column(bank.vectors.matrix)}),
        "state": pa.Table.from_pylist([{"failed": failed}], schema=STATE),
    }


def from_tables(tables: Mapping[str, pa.Table], dimensions: int) -> tuple[Bank, int]:
    """The bank of its tables, and how many calls had no usable reply.

    Raises:
        BadInput: If they are not a bank's, or do not fit one another.
    """
    if missing := {"items", "vectors", "state"} - tables.keys():
        raise BadInput(f"the memory lacks its table {min(missing)}; build it again")
    for name, schema in (("items", ITEMS), ("state", STATE)):
        if tables[name].schema.names != schema.names:
            raise BadInput(f"the memory's table {name} has other columns; build it again")
    experiences: dict[int, list[Item]] = {}
    for row in tables["items"].to_pylist():
        place = row.pop("experience")
        experiences.setdefault(place, []).append(Item(**{**row, "turns": tuple(row["turns"])}))
    table = tables["vectors"]
    places = table.column("experience").to_pylist()
    if list(experiences) != list(range(len(experiences))) or not experiences.keys() >= set(places):
        raise BadInput("the memory's tables items and vectors do not fit one another; build it again")
    vectors = dict(zip(places, vectors_of(table, dimensions), strict=True))
    bank = Bank(dimensions)
    for place, items in experiences.items():
        bank.add(tuple(items), vectors.get(place))
    [state] = tables["state"].to_pylist()
    return bank, state["failed"]
