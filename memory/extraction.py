"""What an extractor makes of a turn, and the nine-label ontology (paper, section 3.2)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

LABELS = (
    "Person",
    "Organization",
    "Location",
    "Event",
    "Concept",
    "Artifact",
    "Preference",
    "Goal",
    "Skill",
)

Scalar = str | int | float | bool


class ExtractedNode(BaseModel):
    """An entity found in a turn. `key` is the extractor's temporary id, unique within one extraction."""

    model_config = ConfigDict(frozen=True)

    key: str
    label: str
    title: str
    content: str | None = None
    attributes: dict[str, Scalar] = Field(default_factory=dict)


class ExtractedEdge(BaseModel):
    """A directed relation between two extracted nodes, named by their keys."""

    model_config = ConfigDict(frozen=True)

    source: str
    target: str
    relationship: str
    attributes: dict[str, Scalar] = Field(default_factory=dict)


class Extraction(BaseModel):
    """All that was extracted from one turn; both lists empty for a turn that says nothing."""

    model_config = ConfigDict(frozen=True)

    nodes: tuple[ExtractedNode, ...] = ()
    edges: tuple[ExtractedEdge, ...] = ()
