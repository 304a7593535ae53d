"""Every setting of GRAFT, and the two profiles that set them.

Numbers in brackets are sections of the facts file on GAAMA. `published` is what the published runs used; `improved`
mends what makes it refuse sound edits or accept unsound ones.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field


class GraftSettings(BaseModel):
    """Settings of GRAFT; the defaults are the profile `improved`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    threshold: float = Field(0.5, ge=0, le=1)
    """From this completeness (or, with reference answers, reward) on, a question is left alone. The library's default
    is 0.7, its LoCoMo runner sets 0.5 (0.9)."""
    probes: int = Field(3, ge=1)
    """Most probe questions that are followed."""
    planned_edits: int = Field(4, ge=1)
    """Most edits of a plan that are taken; the rest of the list is cut off."""
    facts: int = Field(2, ge=0)
    """Most facts that one question may add."""
    concepts: int = Field(2, ge=0)
    """Most concepts that one question may add, beside those that its facts name."""
    belief_cap: float = Field(0.85, ge=0.1, le=1)
    """Most belief of an added fact; the least is 0.1."""
    duplicate_similarity: float = Field(0.90, ge=0, le=1)
    """From this similarity (1 + cosine) / 2 on, what is among the five nearest makes an edit a duplicate."""
    recalled_facts: int = Field(5, ge=0)
    """Facts of the small budget with which questions and probes are recalled."""
    recalled_episodes: int = Field(10, ge=0)
    """Episodes of the small budget."""
    duplicates_of: tuple[Literal["fact", "episode"], ...] = ("fact",)
    """What a new fact is compared with. The code compares with episodes, too, and so refuses a fact that says nearly
    what its own episode says (7, step 7)."""
    near_concept: Literal["rejected", "joined"] = "joined"
    """What becomes of a concept that is as good as stored. The code rejects it and its links with it, and never
    compares the concepts that facts name (7, step 7)."""
    bare_does_not: bool = False
    """Whether `does not` makes any fact a report of absence, as in the code: then no true negation is stored."""
    sources: Literal["any", "episodes"] = "episodes"
    """What a fact may stand on. The code takes any item, and a fact without one (7, step 7)."""
    unlisted_passed: Literal["keeps_all", "rejects_all"] = "rejects_all"
    """What a verification without a list of the edits that passed means; in the code, that all did (7, step 6)."""


GRAFT_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {
        "duplicates_of": ("fact", "episode"),
        "near_concept": "rejected",
        "bare_does_not": True,
        "sources": "any",
        "unlisted_passed": "keeps_all",
    },
    "improved": {},
}
