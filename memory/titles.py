"""The title index: which node a title names.

Keyed by title alone, as in the reference code, a new node takes the entry of an older one of another label;
keyed by label and title, it cannot.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass, field

from memory.profiles import GraphSettings

_APOSTROPHE = re.compile("['’]")
_PUNCTUATION = re.compile(r"[^\w+#]|_")
Key = tuple[str, str]
"""A label, empty where the index is keyed by title alone, and a normalised title."""


def normalise_title(title: str, *, fully: bool) -> str:
    """A title as the index holds it.

    The reference code lower-cases and strips blanks from the ends (facts, section 6). `fully` also folds
    Unicode forms, drops punctuation, closes up blanks and takes a plural's s from the last word.
    """
    if not fully:
        return title.lower().strip()
    folded = unicodedata.normalize("NFKC", title).casefold()
    words = _PUNCTUATION.sub(" ", _APOSTROPHE.sub("", folded)).split()
    return " ".join([*words[:-1], singular(words[-1])]) if words else ""


def singular(word: str) -> str:
    """A word without a plural's ending, by its letters alone."""
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


@dataclass
class TitleIndex:
    """Node ids by title. An entry may name a node that is gone, if the settings keep such entries."""

    settings: GraphSettings
    entries: dict[Key, str] = field(default_factory=dict)
    labels: set[str] = field(default_factory=set)
    """All labels that a key may have; more than the entries have only after titles were removed."""

    def key(self, label: str, title: str) -> Key | None:
        """The key of a title; none for an empty one, which is not indexed."""
        normal = normalise_title(title, fully=self.settings.normalise_titles)
        return (label if self.settings.title_key == "label_title" else "", normal) if normal else None

    def find(self, label: str, title: str) -> str | None:
        """The node that a title names."""
        key = self.key(label, title)
        return self.entries.get(key) if key else None

    def add(self, label: str, title: str, node: str) -> None:
        """Let a title name a node from now on."""
        key = self.key(label, title)
        if key:
            self.entries[key] = node
            self.labels.add(key[0])

    def restore(self, entries: dict[Key, str]) -> None:
        """Take over the entries of another index."""
        self.entries = entries
        self.labels = {label for label, _ in entries}

    def remove(self, label: str, title: str, node: str) -> None:
        """Forget a title, if it names this node."""
        key = self.key(label, title)
        if key and self.entries.get(key) == node:
            del self.entries[key]
