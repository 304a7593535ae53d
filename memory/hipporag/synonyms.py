"""Phrases that mean nearly the same: pairs of near vectors, found in blocks of matrix products."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_array

from memory.hipporag.located import LocatedVectors, Places
from memory.vectors import TOLERANCE, Doubles, Rows

Floats = csr_array[np.float64]

_ROWS = 256  # new phrases at a time: with 100,000 phrases their products take 100 MB
_PAIRS = 4_096  # compared exactly at a time


class Synonyms:
    """All pairs of phrases whose cosine reaches a threshold.

    A pair's cosine is computed in float64, so that it is the same whenever its phrases were added.
    """

    def __init__(self, threshold: float) -> None:
        self.threshold = threshold
        self.pairs: Places = np.zeros((0, 2), np.intp)
        self.cosines: Doubles = np.zeros(0)

    def extend(self, vectors: LocatedVectors, first: int) -> None:
        """Compare the rows from `first` on with all before them."""
        found = list(self._near(vectors, first))
        if found:
            self.pairs = np.concatenate([self.pairs, *(pairs for pairs, _ in found)])
            self.cosines = np.concatenate([self.cosines, *(cosines for _, cosines in found)])

    def _near(self, vectors: LocatedVectors, first: int) -> Iterator[tuple[Places, Doubles]]:
        """Pairs of places, and their cosines, block by block."""
        matrix = vectors.index.matrix
        for start in range(first, len(vectors), _ROWS):
            rough = vectors.index.similarities(matrix[start : start + _ROWS])
            rows, others = np.nonzero(rough >= self.threshold - TOLERANCE)
            rows += start
            earlier = others < rows
            rows, others = rows[earlier], others[earlier]
            for some in range(0, len(rows), _PAIRS):
                a, b = others[some : some + _PAIRS], rows[some : some + _PAIRS]
                wide = matrix[a].astype(np.float64) * matrix[b]
                exact: Doubles = np.add.reduce(wide, axis=1)
                near = exact >= self.threshold
                yield vectors.places[np.stack([a, b], axis=1)[near]], exact[near]

    def found(self, size: int, most: int, seeking: npt.NDArray[np.bool_]) -> Floats:
        """What each phrase has found: `(size, size)`, cosines by seeker and neighbour.

        Args:
            size: How many phrases there are.
            most: Most neighbours of a seeker, the nearest, of equal ones the earliest.
            seeking: Whether a phrase looks for synonyms at all; it may be found in any case.
        """
        seeker = np.concatenate([self.pairs[:, 0], self.pairs[:, 1]])
        neighbour = np.concatenate([self.pairs[:, 1], self.pairs[:, 0]])
        cosine = np.concatenate([self.cosines, self.cosines])
        order = np.lexsort((neighbour, -cosine, seeker))
        order = order[seeking[seeker[order]]]
        order = order[_ranks(seeker[order]) < most]
        return csr_array((cosine[order], (seeker[order], neighbour[order])), shape=(size, size))


def _ranks(groups: Rows) -> Rows:
    """How many members of its group stand before each member, where groups stand together."""
    starts = np.flatnonzero(np.diff(groups, prepend=-1))
    return np.arange(len(groups)) - np.repeat(starts, np.diff(starts, append=len(groups)))
