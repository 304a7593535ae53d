"""What a retention policy sees of a memory: columns with a row for each item, be it a node or a turn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.models import Vectors

Times = npt.NDArray[np.datetime64]
Counts = npt.NDArray[np.int64]
Doubles = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class States:
    """Columns of `n` items, oldest first.

    Attributes:
        created_at: When the item's first turn was said, UTC, microseconds; NaT where unknown.
        last_accessed_at: NaT if never.
        access_count: Accesses so far.
        turns_at_creation: The turn counter when it was stored.
        turns_at_last_access: -1 if never accessed.
        degree: Edges in and out, a self-loop twice; all zero for flat turns.
        label: Number of its label; for flat turns of its role.
        bytes: What keeping it costs: its texts, its vector, its incident edges in equal shares with their other ends.
        edges: `(edges, 2)` rows of source and target.
        vectors: `(n, dimensions)`, unit rows.
    """

    created_at: Times
    last_accessed_at: Times
    access_count: Counts
    turns_at_creation: Counts
    turns_at_last_access: Counts
    degree: Counts
    label: Counts
    bytes: Counts
    edges: npt.NDArray[np.int64]
    vectors: Vectors

    def __len__(self) -> int:
        return len(self.created_at)


@dataclass(frozen=True, slots=True)
class Clock:
    """When a pass happens: the time, and the turn counter T."""

    now: np.datetime64
    turns: int


@dataclass(frozen=True, slots=True)
class Scored:
    """A policy's verdict on every item.

    Attributes:
        score: `(n,)`, higher is kept longer.
        terms: What it is made of, by name, each `(n,)`; for the `forgetting` table.
    """

    score: Doubles
    terms: dict[str, Doubles]
