"""An embedder that finds texts in tables of vectors, so that a batch of histories reads its own from Parquet."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from memory.models import Embedded, Embedder
from memory.tables import vectors_of
from tasks.embed import text_hash
from tasks.stage import Work


class KeptVectors:
    """Gives the vectors of tables as they stand there, and asks another embedder for the rest."""

    def __init__(self, tables: Sequence[pa.Table], behind: Embedder) -> None:
        self._behind = behind
        self._parts = [
            vectors_of(table, behind.dimensions) for table in tables
        ]  # not joined: they may be large
        self._places = {
            name: (part, row)
            for part, table in enumerate(tables)
            for row, name in enumerate(table["text"].to_pylist())
        }

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._behind.name

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._behind.dimensions

    def embed(self, texts: Sequence[str]) -> Embedded:
        """See `memory.models.Embedder.embed`."""
        vectors = np.zeros((len(texts), self.dimensions), np.float32)
        missing = []
        for row, text in enumerate(texts):
            place = self._places.get(text_hash(text))
            if place is None:
                missing.append(row)
            else:
                vectors[row] = self._parts[place[0]][place[1]]
        if not missing:
            return Embedded(vectors)
        bought = self._behind.embed([texts[row] for row in missing])
        vectors[missing] = bought.vectors
        return Embedded(vectors, {missing[row]: reason for row, reason in bought.failures.items()})


def kept_vectors(work: Work, behind: Embedder) -> KeptVectors:
    """An embedder of the vectors that a work's inputs `embed-*` hold."""
    artefacts = [found for name, found in work.inputs.items() if name.startswith("embed-")]
    parts = [found.read(work.folder, table) for found in artefacts for table in found.files]
    return KeptVectors(parts, behind)
