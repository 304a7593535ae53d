"""Every setting of GAM, and the profiles that set them.

GAM's code is not public. What is known of its constants comes from reading notes of third parties (facts on GAAMA,
section 14); each is marked [S], second-hand. What nobody reports is marked "open; ours". The four ablations are
`published` with one switch turned.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from memory.systems.turns import TextForm


class GamSettings(BaseModel):
    """Settings of GAM; the defaults are the profile `improved`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # The switches of the four ablations
    event_graph: bool = True
    """Whether recall goes down from topics to utterances; without, it shows the topics' summaries alone, and what
    belongs to no topic yet cannot be recalled."""
    consolidation: Literal["semantic_shift", "fixed"] = "semantic_shift"
    """When the buffer becomes a topic: where the subject changes, or whenever it is full, which asks no detector
    (without state switching)."""
    topics: bool = True
    """Whether there are topics and links between them; without, buffers are archived when they are full, nobody is
    asked, and recall looks at every utterance."""
    multi_factor: bool = True
    """Whether relevance is multiplied by the boosts."""

    # Encoding: the event progression graph
    session_order: Literal["file", "date"] = "date"
    """The order in which whoever feeds the memory gives it sessions (open; ours)."""
    text: TextForm = "spoken"
    """How an utterance is embedded and counted (open; ours)."""
    show_dates: bool = True
    """Whether the context shows each utterance's session date (open; ours)."""
    buffer_tokens: int = Field(2_048, ge=1)
    """Most tokens of the append-only buffer, o200k_base [S]; an utterance that is longer is a buffer of its own."""
    pause_hours: float = Field(24.0, gt=0)
    """From how long a gap on within a session is a pause (open; ours). Turns have no times of their own, so that a
    gap is only seen where parts of a session are dated apart."""

    # Consolidation: the topic associative network
    nearest_topics: int = Field(5, ge=1)
    """With how many topics a new one is compared [S]."""
    link_threshold: float = Field(0.5, ge=0, le=1)
    """Tau: a link is kept if its confidence is above it (its value is open; ours)."""

    # Retrieval
    topic_similarity: Literal["summary", "best_utterance"] = "best_utterance"
    """What of a topic is compared with the question (open; ours): its summary, which leaves out most of what was said,
    or that and its utterances, of which the nearest decides."""
    top_topics: int = Field(5, ge=1)
    """How many topics are entered by similarity, before their neighbours (k is open; ours)."""
    time_boost: float = Field(1.4, ge=1)
    """Factor of an utterance from the time that the question names [S]."""
    role_boost: float = Field(1.4, ge=1)
    """Factor of an utterance of a speaker whom the question names [S]."""
    confidence_boost: float = Field(1.2, ge=1)
    """Factor of an utterance whose topic is linked to another reached one with confidence 1 [S]; less confidence gives
    as much less of it (open; ours)."""
    max_words: int | None = Field(1_000, ge=1)
    """Most words of the context: about the 1,370 tokens that a query is said to take [S]; none shows all that is
    reached."""
    ranked: int = Field(50, ge=1)
    """How many turns the provenance ranks at least, where the memory holds them."""


BUILDING_FIELDS = frozenset(
    {
        "event_graph",
        "consolidation",
        "topics",
        "session_order",
        "text",
        "buffer_tokens",
        "pause_hours",
        "nearest_topics",
        "link_threshold",
    }
)
"""Settings that matter when a memory is built; without `event_graph` nothing stays in the buffer at the end."""

_PUBLISHED: Mapping[str, Any] = {"session_order": "file", "topic_similarity": "summary"}
GAM_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": _PUBLISHED,
    "improved": {},
    "no_event_graph": {**_PUBLISHED, "event_graph": False},
    "no_state_switching": {**_PUBLISHED, "consolidation": "fixed"},
    "no_topics": {**_PUBLISHED, "topics": False},
    "no_multi_factor": {**_PUBLISHED, "multi_factor": False},
}
