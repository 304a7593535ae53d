"""Lists of numbers of different lengths in two arrays: a graph's neighbours, a node's turns, a question's evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain

import numpy as np
import numpy.typing as npt

Ints = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Ragged:
    """Lists one after another: list `i` is `items[starts[i] : starts[i + 1]]`."""

    starts: Ints
    items: Ints

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]]) -> Ragged:
        """The lists, copied."""
        ends = np.cumsum([len(each) for each in lists], dtype=np.int64)
        items = np.fromiter(chain.from_iterable(lists), np.int64)
        return cls(np.concatenate([np.zeros(1, np.int64), ends]), items)

    @classmethod
    def grouped(cls, owners: Ints, items: Ints, count: int) -> Ragged:
        """`count` lists from items that each name their list, in ascending order."""
        return cls(np.searchsorted(owners, np.arange(count + 1)), items)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, i: int) -> Ints:
        return self.items[self.starts[i] : self.starts[i + 1]]

    @property
    def lengths(self) -> Ints:
        """How long each list is."""
        return np.diff(self.starts)

    @property
    def owners(self) -> Ints:
        """Of each item, the number of its list."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def kept(self, mask: Mask) -> Ragged:
        """The lists with only those items, given by position in `items`, that a mask keeps."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
        return Ragged(before[self.starts], self.items[mask])

    def counts(self, mask: Mask) -> Ints:
        """Of each list, how many of its items, given by position in `items`, a mask keeps."""
        before = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask)])
        return np.diff(before[self.starts])
