"""Every setting of the bank of reasoning items, and its profiles (facts on GAAMA, section 14, ReasoningBank).

ReasoningBank serves an agent that solves tasks; here a trajectory is a session of a conversation, or a chunk of a long
one. What that leaves open is chosen by us and marked "open; ours". The paper asks at temperature .7; here all models
are asked at the one temperature of the run, zero, so that what was bought can be replayed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field

from memory.packing import BudgetSettings


class ReasoningBankSettings(BudgetSettings):
    """Settings of the bank; the defaults are the profile `published`."""

    model_config = ConfigDict(allow_inf_nan=False)

    chunk_tokens: int = Field(8_000, ge=1)
    """Target for the tokens of the lines of a trajectory; a line is never split (open; ours)."""
    items: int = Field(3, ge=1)
    """Most items of a trajectory; what a reply has beyond them is left out."""
    embedded: Literal["query", "item"] = "query"
    """What a question is compared with: the query of a trajectory, whose items are found together, as in the paper, or
    the text of each item. The query of a session is what its user says first (open; ours)."""
    k: int = Field(3, ge=1, le=10)
    """Most trajectories, or items, that are brought up; the release allows ten at most, and the paper finds few better
    (the number: open; ours)."""


BUILDING_FIELDS = frozenset({"chunk_tokens", "items", "embedded"})
"""Settings that matter when a bank is built; two that differ in others alone are built alike."""

REASONING_BANK_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {},
    "improved": {"embedded": "item", "k": 10},
}
"""`improved` compares a question with what an item says, for what a session begins with is as a rule a greeting."""
