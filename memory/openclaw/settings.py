"""Every switch of OpenClaw's memory search, and its profiles.

Weights, candidate multiplier, result count, chunk sizes, and the defaults of re-ranking and decay are those of the
public repository (src/agents/memory-search.ts); facts on GAAMA, section 14, has the chunk sizes from users' reports
only. Which release the TAGGRAPH paper ran, and how it fed conversations to it, is not known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from memory.systems.keeping import RankingSettings


class OpenClawSettings(RankingSettings):
    """Settings of OpenClaw's search; the defaults are the profile `improved`."""

    forgets: ClassVar[Literal["by_policy", "by_use", "never"]] = "never"

    k: int = Field(6, ge=1)
    """How many chunks the context shows, unless `max_words` says how many words."""

    # Chunks
    chunk_tokens: int = Field(400, ge=8)
    """Most tokens of a chunk; a token is taken as four characters, as OpenClaw does."""
    overlap_tokens: int = Field(80, ge=0)
    """Tokens that a chunk repeats of the one before, in whole lines."""

    # Candidates
    candidate_multiplier: int = Field(4, ge=1)
    """How many candidates each search gives for a result that is wanted. OpenClaw wants `k` and takes 200 at most; here
    as many are wanted as turns are to be ranked."""
    match: Literal["any", "all"] = "any"
    """Which chunks lexical search finds: with any of the question's words, or only with all of them, as most releases
    ask. A question in sentences then finds next to nothing by words."""
    stem: bool = False
    """Whether words are compared by their stem; SQLite's index does not."""
    stop_words: bool = False
    """Whether stop words are left out; SQLite's index keeps them."""

    # Scores
    vector_weight: float = Field(0.7, ge=0)
    text_weight: float = Field(0.3, ge=0)
    text_score: Literal["relevance", "rank_clamped"] = "relevance"
    """How BM25 becomes a score of 0 to 1: r / (1 + r), or 1 for whatever was found, as earlier releases have it:
    SQLite's ranks are negative, and were raised to 0 before 1 / (1 + rank)."""
    min_score: float | None = Field(None, ge=-1, le=1)
    """Score from which a chunk is shown. OpenClaw's 0.35 is for its own embedders: it leaves others' contexts empty."""

    # After the scores, both off by default
    mmr: bool = False
    """Whether the best are taken one by one, each the less for what it has in common with those before it (Jaccard of
    their words)."""
    mmr_lambda: float = Field(0.7, ge=0, le=1)
    """How much relevance counts beside being different."""
    recency_decay: bool = False
    """Whether scores halve with every half-life that lies between a chunk and the question."""
    half_life_days: float = Field(30, gt=0)

    @model_validator(mode="after")
    def _overlap_fits(self) -> OpenClawSettings:
        if self.overlap_tokens >= self.chunk_tokens:
            raise ValueError(
                f"overlap_tokens {self.overlap_tokens}: must be less than chunk_tokens {self.chunk_tokens}"
            )
        return self


OPENCLAW_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {"text": "spoken", "show_dates": False, "match": "all"},
    "improved": {"text": "spoken"},
    "tuned": {"text": "dated", "max_words": 1000},
}
