"""Greedy packing of texts under a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence

from memory import tokens


def cost(text: str, constant: int) -> int:
    """What a text takes of a budget: its o200k tokens, and a constant for its id, its marks and its line end."""
    return tokens.count(text) + constant


def fitting(texts: Sequence[str], budget: int | None, constant: int) -> list[int]:
    """The places of the texts that are taken, in order: one that does not fit into what is left is passed over.

    Args:
        texts: Best first.
        budget: Tokens that they may cost together; none takes all.
        constant: See `cost`.
    """
    if budget is None:
        return list(range(len(texts)))
    taken = []
    for place, text in enumerate(texts):
        size = cost(text, constant)
        if size <= budget:
            taken.append(place)
            budget -= size
    return taken
