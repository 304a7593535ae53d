"""Which entries can be chosen for a question, and what makes a question historical."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memory.prompts.rd_curate import Asked
from memory.rdforget.materialise import Entry
from memory.rdforget.settings import RDForgetSettings

_FORMER = (
    r"before|previous(?:ly)?|prior|former(?:ly)?|earlier|originally|initially|at first|used to|back then"
    r"|in the past|no longer|any ?more"
)
_CHAIN = (
    r"chang(?:e|es|ed|ing)|evol(?:ve|ves|ved|ving|ution)|over time|histor(?:y|ical(?:ly)?)|timeline"
    r"|switch(?:ed|es)?|replac(?:e|es|ed|ing)|revis(?:e|ed|ion|ions)|updat(?:e|es|ed)"
)
_CONFLICT = r"contradict\w*|conflict(?:s|ed|ing)?|inconsisten\w*"
_CUES = re.compile(rf"\b(?:{_FORMER}|{_CHAIN}|{_CONFLICT})\b", re.IGNORECASE)
"""Cues of a question about the past, about a chain of revisions, and about statements that differ (open; ours)."""
_LABELS = re.compile(r"contradiction|temporal|evolution|previous updates|preference history")
"""Parts of benchmarks' labels that stand for contradiction resolution, temporal reasoning and preference history."""


def historical(asked: Asked) -> bool:
    """Whether a question is about the past or a chain of revisions: h(q). A label counts where there is one."""
    label = re.sub(r"[-_\s]+", " ", asked.label.lower())
    return bool(_CUES.search(asked.text) or _LABELS.search(label))


def eligible(entries: Sequence[Entry], asked: Asked, settings: RDForgetSettings) -> list[Entry]:
    """The active entries, and for a historical question all, unless rescue is switched off."""
    if settings.rescue and historical(asked):
        return list(entries)
    return [entry for entry in entries if entry.status == "active"]
