"""Every setting of HippoRAG 2, and the profiles that set them (facts on GAAMA, section 14).

`published` is the released code as far as it carries over to conversations. What does not, and what the facts leave
open, is chosen by us and marked "open; ours". `improved` mends what `edge_weights` describes, and indexes turns with
their speaker.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field

from memory.systems.keeping import RankingSettings
from memory.systems.turns import TextForm


class HippoRAGSettings(RankingSettings):
    """Settings of HippoRAG 2; the defaults are the profile `improved`. A passage is a turn (open; ours)."""

    forgets: ClassVar[Literal["by_policy", "by_use", "never"]] = "never"

    text: TextForm = "spoken"
    """How a turn is embedded and shown."""

    # The graph
    synonymy: float = Field(0.8, ge=-1, le=1)
    """Cosine from which two phrases are joined as synonyms. Published for NV-Embed-v2; a cosine means another thing to
    another embedder, and nobody has published this one for any of ours."""
    synonyms: int = Field(2047, ge=0)
    """Most neighbours that a phrase looks for synonyms among."""
    edge_weights: Literal["reference", "added"] = "added"
    """What edges between phrases weigh. The released code keeps a weight for each direction, and adds both to an
    undirected graph: a triple counts twice what containment does; and a synonym edge takes the place of the triples
    between its ends. `added` counts each triple once and adds the similarity to it."""

    # The question
    facts: int = Field(5, ge=0)
    """Nearest facts that are offered to the filter."""
    filter: Literal["model", "similarity"] = "model"
    """Who says which of these facts serve the question: the chat model (an offline one goes by shared words), or
    `fact_floor`, which asks nobody."""
    fact_floor: float = Field(0.5, ge=-1, le=1)
    """Cosine with the question from which `similarity` keeps a fact, for the offline MiniLM (open; ours). From 0 to .65
    it hardly matters on LoCoMo's development conversations; from .7 on it costs recall."""
    phrases: int | None = Field(5, ge=1)
    """Most phrases that are seeds, the heaviest first; none is all. The code uses the number of facts for both."""
    passage_weight: float = Field(1.0, ge=0)
    """What a passage's normalised dense score is multiplied by as a seed: published .05, for long passages that share
    few phrases. A turn is short and many turns share a speaker: of .05 to 5, 1 ranks best on LoCoMo's development
    conversations with the offline models (turn MRR .371 over .319 with .05, recall@5 .465 over .367)."""
    damping: float = Field(0.5, gt=0, lt=1)
    """Chance of following an edge rather than starting again at a seed."""


HIPPORAG_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {"text": "raw", "show_dates": False, "edge_weights": "reference", "passage_weight": 0.05},
    "improved": {},
    "without_llm": {"filter": "similarity"},
}
"""`without_llm` is `improved` with facts filtered by similarity, so that a question costs no call at all."""
