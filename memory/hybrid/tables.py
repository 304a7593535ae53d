"""The hybrid's uses and entities as Arrow tables, and back."""

from __future__ import annotations

from array import array
from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from memory.errors import BadInput
from memory.hybrid.graph import EntityGraph

VERSION = 1
_VERSION, _FORGOTTEN = b"palimpsest.hybrid.version", b"palimpsest.hybrid.forgotten"


def uses(counts: array[int], forgotten: int) -> pa.Table:
    """How often each turn was recalled, and how many bytes were forgotten."""
    table = pa.table({"uses": pa.array(np.frombuffer(counts, np.int32))})
    return table.replace_schema_metadata({_VERSION: str(VERSION), _FORGOTTEN: str(forgotten)})


def read_uses(table: pa.Table, turns: int) -> tuple[array[int], int]:
    """The counts and bytes of a table.

    Raises:
        BadInput: If it is of another version, or not of so many turns.
    """
    about = table.schema.metadata or {}
    if about.get(_VERSION) != str(VERSION).encode():
        raise BadInput(
            "the stored memory is not of this version of palimpsest, or of another system; build it again"
        )
    if len(table) != turns:
        raise BadInput(
            f"the stored memory has {turns} turns and uses of {len(table)}; its tables are not of one memory"
        )
    counts = array("i", table.column("uses").to_numpy().astype(np.int32).tobytes())
    return counts, int(about[_FORGOTTEN])


def of_graph(graph: EntityGraph) -> dict[str, pa.Table]:
    """The tables `entities`, in order of their numbers, and `mentions`: of each turn, with what it states of them."""
    turns, entities = graph.mentions()
    return {
        "entities": pa.table({"name": pa.array(list(graph.numbers), pa.string())}),
        "mentions": pa.table(
            {
                "turn": pa.array(turns.astype(np.int32)),
                "entity": pa.array(entities),
                "value": pa.array(graph.values(), pa.string()),
            }
        ),
    }


def read_graph(stored: Mapping[str, pa.Table], turns: int) -> EntityGraph:
    """The graph of its tables.

    Raises:
        BadInput: If a mention is of a turn or entity that is not there.
    """
    names = stored["entities"].column("name").to_pylist()
    mentions = stored["mentions"]
    of, entities = (mentions.column(name).to_numpy() for name in ("turn", "entity"))
    if len(of) and (min(of.min(), entities.min()) < 0 or of.max() >= turns or entities.max() >= len(names)):
        raise BadInput("a stored mention is of a turn or an entity that is not there; build the memory again")
    values = mentions.column("value").to_pylist()
    ends = np.searchsorted(of, np.arange(turns), side="right").tolist()
    graph = EntityGraph()
    start = 0
    for end in ends:
        own = [names[number] for number in entities[start:end].tolist()]
        graph.restore(own, {n: v for n, v in zip(own, values[start:end], strict=True) if v is not None})
        start = end
    return graph
