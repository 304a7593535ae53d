"""Every setting of GAAMA, and the profiles that set them.

Numbers in brackets are sections of the facts file on GAAMA. `published` is the code as it ran; `improved` mends what
section 0 lists. The published tables come from one database of all ten conversations, of which the nearest rows were
taken before those of other conversations were left out;
`memory.systems.gaama.Gaama.beside` shows a memory these others.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field

from memory.packing import BudgetSettings


class GaamaSettings(BudgetSettings):
    """Settings of GAAMA; the defaults are the profile `improved`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # Construction (4)
    session_order: Literal["file", "date"] = "date"
    """The order in which whoever feeds the memory gives it sessions; the code takes them by their number."""
    chunk_words: int = Field(500, ge=1)
    """Most words of a chunk; a turn is never split."""
    captions: bool = True
    """Whether an episode holds the caption of its image; the code drops it, while its RAG baseline has it."""
    next_edges: Literal["conversation", "session"] = "session"
    """What episodes are chained through: the paper says a session, the code a whole conversation (0.5)."""
    prompt_words: int = Field(2000, ge=1)
    """Most words of the context of a construction prompt."""
    related_similarity: float = Field(0.75, ge=0, le=1)
    """From here on, on the scale of `similarity`, what is stored is shown to the extractor."""

    # Which parts take part in recall
    concepts: bool = True
    """Whether concepts and their edges take part."""
    reflections: bool = True
    """Whether reflections take part."""

    # Retrieval (5)
    mode: Literal["semantic", "ppr"] = "ppr"
    facts: int = Field(60, ge=0)
    reflection_items: int = Field(20, ge=0)
    skills: int = Field(5, ge=0)
    """No skill is ever made; the number counts in the sum of the budgets, which sizes the search and the trim."""
    episodes: int = Field(80, ge=0)
    max_words: int | None = Field(1000, ge=1)
    """Most words of the items shown; none shows all that the budgets allow. `budget_tokens` stands in its place."""
    seeds: int = Field(40, ge=1)
    hops: int = Field(2, ge=0)
    damping: float = Field(0.6, gt=0, lt=1)
    iterations: int = Field(100, ge=1)
    tolerance: float = Field(1e-6, gt=0)
    ppr_weight: float = Field(0.1, ge=0)
    similarity_weight: float = Field(1.0, ge=0)
    graph_similarity: Literal["none", "real"] = "real"
    """What an item that only the graph has found is given as similarity: the code nothing (0.1)."""
    filter: Literal["after", "before"] = "before"
    """Whether items of other conversations are left out after the nearest were taken, or before (0.4)."""
    hub_limit: int | None = Field(50, ge=1)
    """Neighbours from which on an item passes on less of its mass; in the code the limit cancels out (0.2)."""

    # Repair (7)
    concept_ids: Literal["one", "two"] = "one"
    """Whether a repair's concept is the stored one of that label; the code gives it an id of another kind (0.10)."""

    @property
    def budget(self) -> int:
        """The sum of the budgets of all kinds."""
        return self.facts + self.reflection_items + self.skills + self.episodes


BUILDING_FIELDS = frozenset(
    {"session_order", "chunk_words", "captions", "next_edges", "prompt_words", "related_similarity"}
)
"""Settings that matter when a memory is built; two memories that differ in others alone are built alike."""
ASKING_FIELDS = BUILDING_FIELDS - {"next_edges"}
"""Those of them that change what the builder is asked, so that another value buys the construction anew."""

_PUBLISHED: Mapping[str, Any] = {
    "session_order": "file",
    "captions": False,
    "next_edges": "conversation",
    "graph_similarity": "none",
    "filter": "after",
    "hub_limit": None,
    "concept_ids": "two",
}
GAAMA_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": _PUBLISHED,
    "improved": {},
    "arena": {
        **_PUBLISHED,
        **{"facts": 40, "reflection_items": 5, "skills": 0, "episodes": 60, "max_words": None, "hops": 1},
    },
}
"""`arena` is the published code as it ran on MemoryArena: other budgets, one hop, nothing trimmed (section 12)."""
