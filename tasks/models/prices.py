"""Prices, for the ledger's dollars alone."""

from __future__ import annotations

from dataclasses import dataclass

AS_OF = "2025-01"
"""When these were the providers' list prices. Nothing but the ledger's `usd` depends on them."""


@dataclass(frozen=True, slots=True)
class Price:
    """US dollars for a million tokens."""

    prompt: float
    cached: float
    completion: float


_FREE = Price(0.0, 0.0, 0.0)
# Providers whose models run on the user's own machine.
_FREE_PROVIDERS = frozenset({"offline", "ollama"})
_PRICES = {
    ("openai", "gpt-4o-mini"): Price(0.15, 0.075, 0.60),
    ("openai", "gpt-4o"): Price(2.50, 1.25, 10.00),
    ("openai", "text-embedding-3-small"): Price(0.02, 0.02, 0.0),
    ("openai", "text-embedding-3-large"): Price(0.13, 0.13, 0.0),
}


def usd(
    provider: str, model: str, prompt: int | None, completion: int | None, cached: int | None
) -> float | None:
    """What a call costs, or none if the model's price or the tokens are unknown (never zero instead)."""
    price = _FREE if provider in _FREE_PROVIDERS else _PRICES.get((provider, model))
    if price is _FREE:
        return 0.0
    if price is None or prompt is None or completion is None:
        return None
    fresh = prompt - (cached or 0)
    return (fresh * price.prompt + (cached or 0) * price.cached + completion * price.completion) / 1e6
