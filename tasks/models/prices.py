"""Prices: what a call has cost, and what it may cost at worst."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from tasks.toml_file import read_as

UNKNOWN_MOST_REPLY = 32_768
"""Tokens of the longest reply of a model of which nothing is known."""
# Providers whose models run on the user's own machine.
_FREE_PROVIDERS = frozenset({"offline", "ollama", "local"})


class Price(BaseModel):
    """US dollars for a million tokens, and the most tokens that a reply may have."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    prompt: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(
        None, ge=0, allow_inf_nan=False, description="Of prompt tokens in the provider's cache."
    )
    completion: float = Field(0.0, ge=0, allow_inf_nan=False)
    most_reply: int = Field(UNKNOWN_MOST_REPLY, ge=0)
    batch: float = Field(0.5, ge=0, le=1, description="Share of the price that a call in a batch costs.")

    def usd(self, prompt: int, completion: int, cached: int = 0) -> float:
        """Dollars for so many tokens; `cached` are part of `prompt`."""
        cheaper = self.prompt if self.cached is None else self.cached
        return ((prompt - cached) * self.prompt + cached * cheaper + completion * self.completion) / 1e6


FREE = Price(prompt=0.0)


class Prices(BaseModel):
    """Prices by `provider:model`, and when they held."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    as_of: str = Field(description="Date of the prices, such as 2025-01.")
    models: Mapping[str, Price] = Field(default_factory=dict, description="By provider:model.")

    def of(self, provider: str, model: str) -> Price | None:
        """A model's price; none if it is not known (never zero instead). An embedder's `@dimensions` do not count."""
        named = self.models.get(f"{provider}:{model.partition('@')[0]}")
        return FREE if named is None and provider in _FREE_PROVIDERS else named

    def usd(
        self, provider: str, model: str, prompt: int | None, completion: int | None, cached: int | None
    ) -> float | None:
        """What a call has cost, or none if the model's price or the tokens are unknown."""
        price = self.of(provider, model)
        if price is FREE:
            return 0.0
        if price is None or prompt is None or completion is None:
            return None
        return price.usd(prompt, completion, cached or 0)

    def replaced(self, others: Prices | None) -> Prices:
        """These prices, with others in the places of those that the others name."""
        if others is None:
            return self
        return Prices(as_of=others.as_of, models={**self.models, **others.models})


@cache
def list_prices() -> Prices:
    """The list prices that come with the project."""
    return Prices.model_validate(tomllib.loads((files("tasks.models") / "prices.toml").read_text("utf-8")))


def read_prices(path: Path) -> Prices:
    """Prices from a TOML file of the user.

    Raises:
        BadInput: Naming the field that is wrong.
    """
    return read_as(path, Prices)
