"""Items in the order in which they were learnt, and which of them a question's vector finds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.models import Vectors
from memory.vectors import VectorIndex


@dataclass(frozen=True, slots=True)
class Item:
    """What a trajectory teaches.

    Attributes:
        title: A few words; may be empty.
        description: When it matters; may be empty.
        content: What was learnt; never blank.
        success: Whether its trajectory was judged a success.
        turns: The turns that it stands on, in the order of the session; none where the model has named no line.
    """

    title: str
    description: str
    content: str
    success: bool
    turns: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The item as it is embedded."""
        said = f"{self.description} {self.content}" if self.description else self.content
        return f"{self.title}: {said}" if self.title else said

    @property
    def line(self) -> str:
        """The item as a context shows it."""
        return f"[{'success' if self.success else 'failure'}] {self.text}"


Experience = tuple[Item, ...]
"""Items that are found together: those of a trajectory, or one alone. It is never empty."""


class Bank:
    """Experiences, oldest first. They are only ever added to."""

    def __init__(self, dimensions: int) -> None:
        self.experiences: list[Experience] = []
        self.vectors = VectorIndex(dimensions)
        self.places: list[int] = []
        """Of the experience of each row: one that has no vector has no row, and is never found."""

    def add(self, experience: Experience, vector: Vectors | None) -> None:
        """Keep an experience."""
        if vector is not None:
            self.vectors.add(vector)
            self.places.append(len(self.experiences))
        self.experiences.append(experience)

    def nearest(self, vector: Vectors, count: int) -> list[tuple[Item, float]]:
        """The items of the experiences nearest to a vector, with their cosines; of equal ones the oldest come first."""
        rows, cosines = self.vectors.nearest(self.vectors.unit(vector), count)
        return [
            (item, float(cosine))
            for row, cosine in zip(rows, cosines, strict=True)
            for item in self.experiences[self.places[row]]
        ]

    @property
    def items(self) -> Sequence[Item]:
        """All items, oldest first."""
        return [item for experience in self.experiences for item in experience]
