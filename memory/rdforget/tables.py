"""What a curator that has not seen a question found, as an Arrow table, and back."""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from memory.errors import BadInput
from memory.rdforget.curation import Claim

_CLAIM: dict[str, pa.DataType] = {
    "statement": pa.string(),
    "slot": pa.string(),
    "turns": pa.list_(pa.field("element", pa.string())),
    "validity": pa.string(),
    "replaced": pa.bool_(),
}
CHUNKS = pa.schema(
    {
        "chunk": pa.string(),
        "claims": pa.list_(pa.field("element", pa.struct(list(map(pa.field, _CLAIM, _CLAIM.values()))))),
    }
)
"""One row a chunk: the SHA-256 of its lines, and its claims."""


def to_table(curated: Mapping[str, list[Claim]]) -> pa.Table:
    """Claims by chunk."""
    rows = [
        {
            "chunk": chunk,
            "claims": [{name: getattr(claim, name) for name in _CLAIM} for claim in claims],
        }
        for chunk, claims in curated.items()
    ]
    return pa.Table.from_pylist(rows, schema=CHUNKS)


def from_table(table: pa.Table) -> dict[str, list[Claim]]:
    """The claims of a table.

    Raises:
        BadInput: If it has other columns.
    """
    if table.schema.names != CHUNKS.names:
        raise BadInput("the memory's table of chunks has other columns; build it again")
    return {
        row["chunk"]: [Claim(**{**each, "turns": tuple(each["turns"])}) for each in row["claims"]]
        for row in table.to_pylist()
    }
