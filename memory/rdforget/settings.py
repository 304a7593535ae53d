"""Every setting of RD-Forget, and the profiles that set them (paper: What Should an Agent Forget?).

`published` is the paper's main protocol with what it leaves open chosen by us, each choice marked "open; ours".
The paper prints no B, no constant per entry, no measure of overlap, no chunk size but one, and no prompt. The
ablations are `published` with one switch turned; Full, -FORGET, -RESCUE and -SLOT put the same requests to the curator,
so that they cost no call more and differ in what is made of its replies alone.

The paper caps answers and judgements like selections: 256 tokens, and 2,048 for query intent.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field

from memory.forgetting.retention import RetentionSettings


class RDForgetSettings(RetentionSettings):
    """Settings of RD-Forget; the defaults are the profile `improved`."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    # The five switches of the ablations
    forget: bool = True
    """Whether an older fact that was replaced in its slot is superseded; without, it stays active (-FORGET)."""
    rescue: bool = True
    """Whether entries that are not active can be chosen for a historical question (-RESCUE)."""
    slots: bool = True
    """Whether facts are grouped by their slot; without, older facts are active entries of their own (-SLOT)."""
    closure: bool = True
    """Whether the curator is asked for the whole chain of facts, or for direct matches alone (-CLOSURE)."""
    query_conditioned: bool = True
    """Whether the curator sees the question; without, it curates a history once, for any question (-QC)."""

    # Curation
    chunk_tokens: int = Field(8_000, ge=1)
    """Target for the tokens of the source lines that the curator reads at once; a line is never split. The paper
    prints it for query intent alone; in the main protocol open; ours."""
    curation_tokens: int = Field(4_096, ge=1)
    """Cap on a curation's reply. That of -QC is larger by an amount that is open: that of query intent; ours."""
    across_chunks: Literal["keep", "supersede"] = "supersede"
    """What becomes of an active entry when a later chunk has an active one in its slot. No curator has seen both:
    `keep` leaves both active, as the paper's materialiser would, `supersede` takes the later for an update."""
    intent_aware: bool = True
    """Whether the curator is told what questions about contradictions, evolution and recommendations need."""
    intent: Literal["lexical", "labels"] = "lexical"
    """What makes a question historical: cues in its words alone, or its benchmark's label as well, which also is
    shown to curator and selector. Labels are what the paper used, and they are a leak: no user's question has one."""

    # Ranking and selection
    active_bonus: float = Field(0.4, ge=0)
    """What an active entry is given beside its lexical overlap with the question."""
    candidate_tokens: int = Field(10_000, ge=0)
    """Tokens of the candidates that the selector is shown; the first is shown whatever it takes."""
    selection_tokens: int = Field(256, ge=1)
    """Cap on the selector's reply."""
    fallback_lines: int = Field(20, ge=0)
    """How many source lines stand in where curation yields nothing."""

    # Packing
    budget_tokens: int = Field(2_000, ge=0)
    """B: tokens that the packed entries may cost (open; ours)."""
    entry_tokens: int = Field(8, ge=0)
    """The constant in an entry's cost: what its id, status and line end take in the context (open; ours)."""


_PUBLISHED: Mapping[str, Any] = {"across_chunks": "keep", "intent_aware": False, "intent": "labels"}
RD_FORGET_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": _PUBLISHED,
    "improved": {},
    "query_intent": {
        **_PUBLISHED,
        "intent_aware": True,
        "curation_tokens": 8_192,
        "selection_tokens": 2_048,
    },
    "no_forget": {**_PUBLISHED, "forget": False},
    "no_rescue": {**_PUBLISHED, "rescue": False},
    "no_slot": {**_PUBLISHED, "slots": False},
    "no_closure": {**_PUBLISHED, "closure": False},
    "no_qc": {**_PUBLISHED, "query_conditioned": False, "curation_tokens": 8_192},
}
"""The paper's matched Full is `published`; `query_intent` is its protocol for BEAM and PersonaMem."""
