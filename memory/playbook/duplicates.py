"""Which bullet of a playbook is nearest to a new one."""

from __future__ import annotations

from memory.models import Vectors
from memory.vectors import VectorIndex, reaches


class Duplicates:
    """The vectors of bullets, by their ids; a bullet without a vector is near to none."""

    def __init__(self, dimensions: int, threshold: float) -> None:
        self.vectors = VectorIndex(dimensions)
        self.threshold = threshold
        self.ids: list[str] = []
        """The bullet of each row, also of such as are dead."""

    def of(self, vector: Vectors) -> str | None:
        """The id of the bullet nearest to a vector, if its cosine reaches the threshold; of equal ones the oldest."""
        rows, cosines = self.vectors.nearest(self.vectors.unit(vector), 1)
        if not len(rows) or not reaches(float(cosines[0]), self.threshold, strict=False):
            return None
        return self.ids[int(rows[0])]

    def put(self, id: str, vector: Vectors) -> None:
        """Keep a bullet's vector in the place of a former one."""
        self.vectors.remove([row for row, kept in enumerate(self.ids) if kept == id])
        self.vectors.add(vector)
        self.ids.append(id)

    def kept(self) -> tuple[list[str], Vectors]:
        """The bullets that have a vector, and the vectors `(bullets, dimensions)`."""
        live = self.vectors.live
        return [id for id, alive in zip(self.ids, live, strict=True) if alive], self.vectors.matrix[live]
