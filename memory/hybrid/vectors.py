"""Dense search over vectors of two bytes a number: a scan reads the upper byte, and the best are scored with both.

A vector is held as 16-bit integers in two planes of bytes, with a scale of its own. A row's bytes follow from its
vector alone, so that a memory does not depend on how its turns came.
"""

from __future__ import annotations

from array import array
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from memory.errors import BadInput, CallFailed
from memory.models import Embedder, Vectors
from memory.vectors import Doubles, Mask, Rows, grown

Bytes = npt.NDArray[np.int8]

_LARGEST = 127 * 256
_BLOCK = 512
"""Rows that are widened and multiplied before the next are read, few enough to stay in cache."""
RESCORED = 1000
"""Best rows whose cosines are computed from both planes; the others' are off by about .0005."""
_LEVEL = 1e-6
"""By what the rough cosines of equal rows may differ, since BLAS rounds by where in a block a row stands."""
_DECIMALS = 6


class PlaneVectors:
    """The vectors of texts, numbered in the order they are added in; some may have none."""

    def __init__(self, embedder: Embedder) -> None:
        self._embedder = embedder
        self._size = embedder.dimensions
        self._upper: Bytes = np.zeros((0, self._size), np.int8)
        self._lower: Bytes = np.zeros((0, self._size), np.int8)
        self._scales = array("f")
        self._texts_of_rows = array("i")
        self._texts = 0

    def __len__(self) -> int:
        """How many texts have a vector."""
        return len(self._scales)

    @property
    def complete(self) -> bool:
        """Whether every text has one."""
        return len(self) == self._texts

    @property
    def nbytes(self) -> int:
        """Bytes of the vectors, their scales, and which text each is of."""
        return len(self) * self.row_bytes

    @property
    def row_bytes(self) -> int:
        """Bytes of one vector."""
        return 2 * self._size + 8

    def add(self, texts: Sequence[str]) -> None:
        """Embed texts; one that cannot be embedded is counted, but never found."""
        embedded = self._embedder.embed(texts)
        for position, vector in enumerate(embedded.vectors):
            if position not in embedded.failures:
                self._append(vector, self._texts + position)
        self._texts += len(texts)

    def skip(self, texts: int) -> None:
        """Count texts that are to have no vector."""
        self._texts += texts

    def _append(self, vector: npt.ArrayLike, text: int) -> None:
        wide = np.asarray(vector, np.float64)
        norm = float(np.linalg.norm(wide))
        if not np.isfinite(norm) or norm < 1e-12:
            raise ValueError("a vector is zero or not finite")
        row = len(self)
        if row == len(self._upper):
            self._upper, self._lower = grown(self._upper), grown(self._lower)
        scale = np.float32(np.abs(wide).max() / norm / _LARGEST)
        whole = np.clip(np.rint(wide / norm / scale), -_LARGEST, _LARGEST).astype(np.int32)
        self._upper[row] = (whole + 128) >> 8
        self._lower[row] = whole - (self._upper[row].astype(np.int32) << 8)
        self._scales.append(float(scale))
        self._texts_of_rows.append(text)

    def question(self, text: str) -> Vectors:
        """The unit vector of a question.

        Raises:
            CallFailed: If it has none.
        """
        embedded = self._embedder.embed([text])
        if embedded.failures:
            raise CallFailed(f"the question could not be embedded: {embedded.failures[0]}", final=False)
        vector = embedded.vectors[0].astype(np.float64)
        return np.asarray(vector / np.linalg.norm(vector), np.float32)

    def mean(self, texts: Rows) -> Vectors | None:
        """The unit mean of some texts' vectors; none if none of them has one."""
        rows = np.flatnonzero(np.isin(self._held(), texts))
        if not len(rows):
            return None
        total = self._exact(rows).sum(axis=0)
        norm = float(np.linalg.norm(total))
        return np.asarray(total / norm, np.float32) if norm > 1e-12 else None

    def cosines(self, query: Vectors) -> Doubles:
        """Cosine of a unit query with each text, -inf where a text has no vector; equal vectors have equal cosines."""
        rough = np.empty(len(self), np.float32)
        wide = np.empty((_BLOCK, self._size), np.float32)
        for start in range(0, len(self), _BLOCK):
            end = min(start + _BLOCK, len(self))
            block = wide[: end - start]
            np.copyto(block, self._upper[start:end])
            np.matmul(block, query, out=rough[start:end])
        scores = rough.astype(np.float64) * (np.frombuffer(self._scales, np.float32) * 256.0)
        best = self._best(scores)
        scores[best] = np.add.reduce(self._exact(best) * query.astype(np.float64), axis=1)
        found = np.full(self._texts, -np.inf)
        found[self._held()] = scores.round(_DECIMALS)
        return found

    @staticmethod
    def _best(rough: Doubles) -> Rows:
        """The rows that are scored again: so many of the best, and all that are level with the last of them."""
        if len(rough) <= RESCORED:
            return np.arange(len(rough))
        last = np.partition(rough, -RESCORED)[-RESCORED]
        return np.flatnonzero(rough >= last - _LEVEL)

    def _exact(self, rows: Rows) -> Doubles:
        """Some vectors from both planes."""
        whole = (self._upper[rows].astype(np.float64) * 256.0) + self._lower[rows]
        return np.asarray(whole * np.frombuffer(self._scales, np.float32)[rows, None].astype(np.float64))

    def _held(self) -> Rows:
        return np.array(self._texts_of_rows, np.intp)

    def having(self) -> Mask:
        """Which texts have a vector."""
        found = np.zeros(self._texts, np.bool_)
        found[self._held()] = True
        return found

    def keep(self, texts: Mask, vectors: Mask) -> None:
        """Forget texts, and vectors of texts that stay.

        Args:
            texts: Which texts stay; they are numbered anew, in order.
            vectors: Which of all texts keep their vector.
        """
        held = self._held()
        rows = np.flatnonzero((texts & vectors)[held])
        numbers = np.cumsum(texts) - 1
        self._upper, self._lower = self._upper[rows], self._lower[rows]
        self._scales = array("f", np.frombuffer(self._scales, np.float32)[rows].tobytes())
        self._texts_of_rows = array("i", numbers[held[rows]].astype(np.int32).tobytes())
        self._texts = int(texts.sum())

    def table(self) -> pa.Table:
        """The vectors as a table of `position`, `scale`, `upper` and `lower`."""
        planes = [
            pa.FixedSizeBinaryArray.from_buffers(
                pa.binary(self._size), len(self), [None, pa.py_buffer(plane[: len(self)].tobytes())]
            )
            for plane in (self._upper, self._lower)
        ]
        return pa.table(
            {
                "position": pa.array(np.frombuffer(self._texts_of_rows, np.int32)),
                "scale": pa.array(np.frombuffer(self._scales, np.float32)),
                "upper": planes[0],
                "lower": planes[1],
            }
        )

    def restore(self, table: pa.Table, texts: int) -> None:
        """Take in the vectors of so many texts from their table.

        Raises:
            BadInput: If they have another length, or stand on texts that are not there.
        """
        if table.schema.field("upper").type != pa.binary(self._size):
            raise BadInput(f"the stored vectors are not of {self._size} dimensions; build the memory again")
        positions = table.column("position").to_numpy()
        if len(positions) and not 0 <= positions.min() <= positions.max() < texts:
            raise BadInput("a stored vector is of a turn that the memory does not hold; build it again")
        self._upper, self._lower = (_plane(table, name, self._size) for name in ("upper", "lower"))
        self._scales = array("f", table.column("scale").to_numpy().astype(np.float32).tobytes())
        self._texts_of_rows = array("i", positions.astype(np.int32).tobytes())
        self._texts = texts


def _plane(table: pa.Table, name: str, size: int) -> Bytes:
    joined = b"".join(row for row in table.column(name).to_pylist() if row is not None)
    return np.frombuffer(joined, np.int8).reshape(-1, size).copy()
