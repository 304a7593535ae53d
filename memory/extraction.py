"""What an extractor makes of a turn, and the nine-label ontology (paper, section 3.2)."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field

from memory.conversation import Turn

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


def is_speaker(label: str, title: str, turn: Turn) -> bool:
    """Whether a node is the turn's own speaker: a Person called `user`, or by the speaker's name.

    Such a node comes with nearly every turn and stands on all of them, so that by itself it tells nothing of any.
    """
    return label == "Person" and title.strip().casefold() in ("user", turn.speaker.strip().casefold())
