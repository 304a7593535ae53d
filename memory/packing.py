"""One budget of tokens for the context of any system, and the one rule that fills it.

An entry (a turn, a line of a graph, a curated fact) costs the o200k tokens of its text and a constant for what it takes
beside: a rule line, an id, its marks, a line end (facts on GAAMA, section 14, RD-Forget). Best first, each entry is
taken that still fits, and one that does not is passed over.

A larger budget never spends less: where it first takes an entry that a smaller one passed over, it has spent more with
this entry than the smaller one holds. It can show fewer entries, though, and others.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field

from memory import tokens

T = TypeVar("T")


class BudgetSettings(BaseModel):
    """Settings of every system whose context can keep to a budget of tokens."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    budget_tokens: int | None = Field(None, ge=0)
    """B: tokens that the entries of a context may cost; none leaves the context to the system's other settings."""
    entry_tokens: int = Field(8, ge=0)
    """The constant in an entry's cost. The default covers what joins entries, so that a whole context has no more
    tokens than the budget."""


def cost(text: str, constant: int) -> int:
    """What a text takes of a budget: its o200k tokens, and a constant for its id, its marks and its line end."""
    return tokens.count(text) + constant


def fitted(entries: Sequence[T], costs: Iterable[int], budget: int) -> list[T]:
    """The entries that are taken, in order, so that together they cost at most the budget.

    Args:
        entries: Best first.
        costs: Of each entry, not negative, in the unit of the budget.
        budget: What they may cost together.
    """
    taken = []
    for entry, size in zip(entries, costs, strict=True):
        if size <= budget:
            taken.append(entry)
            budget -= size
    return taken


def fitting(texts: Sequence[str], budget: int | None, constant: int) -> list[int]:
    """The places of the texts that are taken; see `fitted`.

    Args:
        texts: Best first.
        budget: Tokens that they may cost together; none takes all.
        constant: See `cost`.
    """
    places = range(len(texts))
    if budget is None:
        return list(places)
    return fitted(places, (cost(text, constant) for text in texts), budget)
