"""What a run may spend."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict, Field

_LEAST_USD = 1e-9  # sums of dollars are rounded


@dataclass(frozen=True, slots=True)
class Spent:
    """What calls have cost, or may cost at worst: tokens are those of prompts and replies together."""

    calls: int = 0
    tokens: int = 0
    usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(self.calls + other.calls, self.tokens + other.tokens, self.usd + other.usd)


class Cap(BaseModel):
    """The most that may be spent, over all attempts of a run; none means without limit."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    usd: float | None = Field(None, ge=0, allow_inf_nan=False, description="US dollars.")
    calls: int | None = Field(None, ge=0, strict=True, description="Calls that are made, not replayed.")
    tokens: int | None = Field(None, ge=0, strict=True, description="Tokens of prompts and replies together.")

    @property
    def limits(self) -> bool:
        """Whether anything is limited."""
        return any(most is not None for most in (self.usd, self.calls, self.tokens))

    def exceeded(self, spent: Spent) -> str:
        """Which limit so much would exceed, in words; empty if none."""
        if self.calls is not None and spent.calls > self.calls:
            return f"{self.calls:,} calls"
        if self.tokens is not None and spent.tokens > self.tokens:
            return f"{self.tokens:,} tokens"
        if self.usd is not None and spent.usd > self.usd + _LEAST_USD:
            return f"${self.usd:.4f}"
        return ""


class Budget(Cap):
    """What a run may spend in all, and in single stages."""

    stages: Mapping[str, Cap] = Field(
        default_factory=dict, description="Caps of single stages, such as extract or answer."
    )

    @property
    def limits(self) -> bool:
        """Whether anything is limited."""
        return super().limits or any(cap.limits for cap in self.stages.values())

    @property
    def in_dollars(self) -> bool:
        """Whether dollars are limited, so that every model asked must have a price."""
        return any(cap.usd is not None for cap in (self, *self.stages.values()))

    def caps(self, stage: str) -> Iterator[tuple[str, Cap]]:
        """The caps that a call of a stage falls under: the stage's name, or none for the whole run's."""
        if super().limits:
            yield "", self
        if stage in self.stages:
            yield stage, self.stages[stage]
