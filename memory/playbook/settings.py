"""Every setting of the playbook, and its profiles (facts on GAAMA, section 14, ACE).

ACE improves an agent that solves tasks; here it remembers conversations, as RD-Forget's comparison has it. What that
leaves open is chosen by us and marked "open; ours".
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import ConfigDict, Field

from memory.packing import BudgetSettings


class AceSettings(BudgetSettings):
    """Settings of the playbook; the defaults are the profile `published`."""

    model_config = ConfigDict(allow_inf_nan=False)

    session_order: Literal["file", "date"] = "date"
    """The order in which whoever feeds the memory gives it sessions: what is learnt later counts as newer."""
    rounds: int = Field(3, ge=1)
    """Most reflections on a chunk: each after the first looks over the one before."""
    chunk_tokens: int = Field(8_000, ge=1)
    """Target for the tokens of the lines that are reflected on at once; a line is never split (open; ours)."""
    playbook_tokens: int = Field(80_000, ge=0)
    """Most tokens of the playbook's bullets; what does not fit is not added."""
    merge_from: float | None = Field(None, ge=0, le=1)
    """Cosine from which a new bullet is merged into the one that it is nearest to; none merges nothing."""


BUILDING_FIELDS = frozenset({"session_order", "rounds", "chunk_tokens", "playbook_tokens", "merge_from"})
"""Settings that matter when a playbook is built; two that differ in others alone are built alike."""

ACE_PROFILES: Mapping[str, Mapping[str, Any]] = {"published": {}, "improved": {"merge_from": 0.9}}
"""The release merges near duplicates at .90 if it is told to, which `improved` does."""
