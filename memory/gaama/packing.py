"""What is shown of a ranking: trimmed to a number of words, and written out (facts, sections 5.4 and 5.5).

A budget of tokens is filled by the rule of all systems instead (`memory.packing`).
"""

from __future__ import annotations

from collections.abc import Sequence

from memory import tokens
from memory.gaama.graph import Item
from memory.gaama.retrieval import Scored
from memory.gaama.settings import GaamaSettings
from memory.packing import fitting
from memory.prompts.material import flat

_HEADINGS = (
    ("fact", "Facts"),
    ("reflection", "Reflections"),
    ("episode", "Episodes, in order of time"),
)


def trimmed(ranked: Sequence[Scored], settings: GaamaSettings, words: int | None) -> list[Scored]:
    """The items that are shown, best first.

    Until their words fit, the kind that exceeds its share of the words the most loses its last item; a kind's share is
    its budget's share of all budgets. Headings and bullets are not counted.
    """
    kept = {kind: [found for found in ranked if found.item.kind == kind] for kind, _ in _HEADINGS}
    if words is not None:
        budgets = {
            "fact": settings.facts,
            "reflection": settings.reflection_items,
            "episode": settings.episodes,
        }
        sizes = {kind: [_words(found) for found in items] for kind, items in kept.items()}
        total = {kind: sum(size) for kind, size in sizes.items()}
        while sum(total.values()) > words:
            worst = max(
                (kind for kind in kept if kept[kind]),
                key=lambda kind: (
                    total[kind] / max(budgets[kind], 1)
                ),  # the words and the sum of budgets cancel out
            )
            kept[worst].pop()
            total[worst] -= sizes[worst].pop()
    shown = {found.item.id for items in kept.values() for found in items}
    return [found for found in ranked if found.item.id in shown]


def packed(ranked: Sequence[Scored], budget: int, constant: int) -> list[Scored]:
    """The items that a budget of tokens takes, best first, once all headings are paid for."""
    headings = tokens.count("\n\n".join(f"## {heading}\n" for _, heading in _HEADINGS))
    texts = [line(found.item) for found in ranked]
    return [ranked[place] for place in fitting(texts, budget - headings, constant)]


def _words(found: Scored) -> int:
    return len(found.item.text.split())


def line(item: Item) -> str:
    """An item as a context shows it."""
    return f"- {flat(item.text)}"


def rendered(shown: Sequence[Scored]) -> str:
    """The items as text: facts, reflections, episodes in order of time; an empty kind is left out."""
    parts = []
    for kind, heading in _HEADINGS:
        items = [found.item for found in shown if found.item.kind == kind]
        if kind == "episode":
            items.sort(key=lambda item: (item.sequence is None, item.sequence or 0))
        if items:
            parts.append("\n".join([f"## {heading}", *map(line, items)]))
    return "\n\n".join(parts)
