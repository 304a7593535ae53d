"""Bullets with their counters, and the playbook that they make up (facts on GAAMA, section 14, ACE)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from memory import tokens

OTHERS = "others"
SECTIONS: Mapping[str, tuple[str, str]] = {
    "strategies_and_insights": ("str", "Strategies and insights"),
    "formulas_and_calculations": ("calc", "Formulas and calculations"),
    "code_snippets_and_templates": ("code", "Code snippets and templates"),
    "common_mistakes_to_avoid": ("err", "Common mistakes to avoid"),
    "problem_solving_heuristics": ("prob", "Problem-solving heuristics"),
    "context_clues_and_indicators": ("ctx", "Context clues and indicators"),
    OTHERS: ("misc", "Others"),
}
"""ACE's seven sections by key: what the ids of their bullets begin with, and their heading."""


def section_of(written: str) -> str:
    """The section that a model has named, by key or heading; one that is unknown is `others`, as in the release."""
    key = re.sub(r"[^a-z]+", "_", written.lower().replace("&", " and ")).strip("_")
    return key if key in SECTIONS else OTHERS


@dataclass(frozen=True, slots=True)
class Bullet:
    """An entry of the playbook.

    Attributes:
        id: Its section's prefix and its number, such as `ctx-12`; no other bullet ever has that number.
        section: A key of `SECTIONS`.
        text: On one line, never blank.
        helpful: How often it was tagged so.
        harmful: How often it was tagged so.
        turns: The turns that it stands on, in the order in which they were learnt from.
    """

    id: str
    section: str
    text: str
    helpful: int = 0
    harmful: int = 0
    turns: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The bullet with its counters, as models and contexts are shown it."""
        return f"[{self.id} +{self.helpful} -{self.harmful}] {self.text}"

    @property
    def tokens(self) -> int:
        """What it takes of the playbook's budget: its line."""
        return tokens.count(f"{self.line}\n")


class Playbook:
    """Bullets by id, oldest first.

    Attributes:
        number: The number that was given out last.
    """

    def __init__(self, bullets: Sequence[Bullet] = (), number: int = 0) -> None:
        self.bullets = {bullet.id: bullet for bullet in bullets}
        self.number = number

    def tag(self, id: str, tag: str) -> bool:
        """Count a tag, `helpful`, `harmful` or `neutral`, which counts nothing; false if bullet or tag is unknown."""
        bullet = self.bullets.get(id)
        if bullet is None or tag not in ("helpful", "harmful", "neutral"):
            return False
        helpful, harmful = bullet.helpful + (tag == "helpful"), bullet.harmful + (tag == "harmful")
        self.bullets[id] = replace(bullet, helpful=helpful, harmful=harmful)
        return True

    def drafted(self, section: str, text: str, turns: Sequence[str]) -> Bullet:
        """The bullet that would be added next."""
        return Bullet(f"{SECTIONS[section][0]}-{self.number + 1}", section, text, turns=tuple(turns))

    def add(self, draft: Bullet) -> None:
        """Add what was drafted last."""
        self.number += 1
        self.bullets[draft.id] = draft

    def merge(self, id: str, draft: Bullet) -> None:
        """Let a bullet say what a near duplicate says: it keeps id, section and counters, and is the newest now.

        Of the two texts the newer stands, so that what has changed is not lost (open; ours: the release asks a model
        for a text that joins both).
        """
        bullet = self.bullets.pop(id)
        turns = tuple(dict.fromkeys((*bullet.turns, *draft.turns)))
        self.bullets[id] = replace(bullet, text=draft.text, turns=turns)

    @property
    def tokens(self) -> int:
        """Tokens of all bullets."""
        return sum(bullet.tokens for bullet in self.bullets.values())

    def ranked(self) -> list[Bullet]:
        """The bullets by helpful less harmful, the newest of equal ones first, whatever the question (open; ours)."""
        newest_first = reversed(self.bullets.values())
        return sorted(newest_first, key=lambda bullet: bullet.harmful - bullet.helpful)

    def rendered(self) -> str:
        """The playbook as its own models read it, under the heading of each section."""
        parts = []
        for key, (_, heading) in SECTIONS.items():
            lines = [bullet.line for bullet in self.bullets.values() if bullet.section == key]
            parts.append("\n".join([f"## {heading}", *(lines or ["(none)"])]))
        return "\n\n".join(parts)
