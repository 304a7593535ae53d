"""Flat turns, to be asked the same questions under many masks of what is still live.

The rank of a turn is one more than the number of live turns ahead of it, and who is ahead of whom does not depend on
what is forgotten. So those ahead of each evidence turn are listed once; a point of a frontier only counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memory.forgetting.ragged import Ints, Mask, Ragged
from memory.models import Vectors
from memory.vectors import TOLERANCE, Doubles, exact_cosines

BLOCK = 8_192
"""Turns that are compared with all questions at a time: 16 MB of similarities for 500 questions."""


@dataclass(frozen=True, eq=False)
class FrozenTurns:
    """Evidence turns among the turns that flat retrieval would rank before them.

    Attributes:
        turns: How many turns there are.
        evidence: Of each question, its evidence turns.
        ahead: Of each of `evidence.items`, the turns ahead of it were none forgotten.
        found: Of each of `evidence.items`, whether it can be found at all.
        ranked: How many turns a recall ranks (`memory.systems.flat`).
    """

    turns: int
    evidence: Ragged
    ahead: Ragged
    found: Mask
    ranked: int

    @classmethod
    def of(
        cls,
        vectors: Vectors,
        queries: Vectors,
        evidence: Ragged,
        *,
        namespaces: Ints | None = None,
        asked: Ints | None = None,
        ranked: int = 50,
    ) -> FrozenTurns:
        """Compare all turns with all questions, block by block.

        Args:
            vectors: `(turns, dimensions)`, unit rows, oldest first; a turn without a vector has zeros.
            queries: `(questions, dimensions)`, unit rows; a question without a vector has zeros and finds nothing.
            evidence: Of each question, the numbers of its evidence turns; -1 for one that was never stored.
            namespaces: Of each turn, its namespace; none for one that all share.
            asked: Of each question, the namespace that it is asked of.
            ranked: How many turns a recall ranks; those after them are not recalled.

        Raises:
            ValueError: If only one of `namespaces` and `asked` is given.
        """
        if (namespaces is None) != (asked is None):
            raise ValueError("namespaces of turns and of questions go together")
        places = np.zeros(len(vectors), np.int64) if namespaces is None else namespaces
        question = evidence.owners
        where = np.zeros(len(queries), np.int64)[question] if asked is None else asked[question]
        wanted = evidence.items
        embedded = np.append(_nonzero(vectors), False)  # the last is that of turn -1
        found = embedded[wanted] & _nonzero(queries)[question] & (np.append(places, -1)[wanted] == where)
        pairs = np.flatnonzero(found)
        own = _own_cosines(vectors, queries, wanted[pairs], question[pairs])
        parts = []
        for first in range(0, len(vectors), BLOCK):
            block = vectors[first : first + BLOCK]
            rough = queries @ block.T
            for pair, value in zip(pairs.tolist(), own.tolist(), strict=True):
                allowed = embedded[first : first + len(block)] & (
                    places[first : first + len(block)] == where[pair]
                )
                query = queries[question[pair]]
                rows = _ahead(block, query, rough[question[pair]], allowed, value, int(wanted[pair]) - first)
                parts.append((np.full(len(rows), pair), rows + first))
        return cls(len(vectors), evidence, _joined(parts, len(wanted)), found, ranked)

    def ranks(self, live: Mask) -> Ints:
        """The rank, from 1, of each of `evidence.items` among the live turns; 0 for one that is not recalled.

        Args:
            live: `(turns,)`: which turns are not forgotten.

        Raises:
            ValueError: If the mask has another length.
        """
        ranks = 1 + self.ahead.counts(self._checked(live)[self.ahead.items])
        return np.where(self.found & self.survives(live) & (ranks <= self.ranked), ranks, 0)

    def survives(self, live: Mask) -> Mask:
        """Whether each of `evidence.items` is live."""
        return np.append(self._checked(live), False)[self.evidence.items]  # the last is that of turn -1

    def _checked(self, live: Mask) -> Mask:
        if live.shape != (self.turns,):
            raise ValueError(f"a mask over {self.turns} turns has shape {live.shape}")
        return live


def _nonzero(vectors: Vectors) -> Mask:
    """Which rows are a vector, and not the zeros that stand for none."""
    return np.asarray((vectors != 0).any(axis=1), np.bool_)


def _own_cosines(vectors: Vectors, queries: Vectors, turns: Ints, questions: Ints) -> Doubles:
    """The exact cosine of each evidence turn with its question."""
    pairs = zip(turns.tolist(), questions.tolist(), strict=True)
    return np.array([exact_cosines(vectors, [turn], queries[question])[0] for turn, question in pairs])


def _ahead(block: Vectors, query: Vectors, rough: Vectors, allowed: Mask, value: float, own: int) -> Ints:
    """The rows of a block that come before row `own`, whose exact cosine is `value`; equal ones go by row."""
    rows = np.flatnonzero((rough >= value - 2 * TOLERANCE) & allowed)
    near = rough[rows] <= value + 2 * TOLERANCE
    before = ~near
    exact = exact_cosines(block, rows[near], query)
    before[near] = (exact > value) | ((exact == value) & (rows[near] < own))
    return rows[before]


def _joined(parts: Sequence[tuple[Ints, Ints]], count: int) -> Ragged:
    """Lists from pieces that each name their list, item by item."""
    empty = np.zeros(0, np.int64)
    owners = np.concatenate([empty, *(owner for owner, _ in parts)])
    items = np.concatenate([empty, *(item for _, item in parts)])
    order = np.argsort(owners, kind="stable")
    return Ragged.grouped(owners[order], items[order], count)
