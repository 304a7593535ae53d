"""Which questions parameters may be tuned on, and which are looked at only when these are frozen.

The side of a question follows from its benchmark, its id and its history alone, so that every study and every form of
a benchmark leaves out the same ones.
"""

from __future__ import annotations

import hashlib
from typing import Literal

Side = Literal["development", "rest", "apart"]
SIDES: tuple[Side, ...] = ("development", "rest", "apart")

_LONGMEMEVAL = frozenset({"longmemeval-oracle", "longmemeval-s", "lme-ku"})
_LOCOMO = frozenset({"locomo", "locomo-adversarial", "amb-text"})
_DEVELOPMENT_CONVERSATIONS = frozenset({"conv-30", "conv-41", "conv-42"})
_APART = frozenset({"conv-26"})
_FIFTHS = {
    "knowledge-update": 0.182,
    "multi-session": 0.22,
    "single-session-assistant": 0.203,
    "single-session-preference": 0.125,
    "single-session-user": 0.19,
    "temporal-reasoning": 0.129,
}
"""By question type, the bound below which the lots of a fifth of LongMemEval's 500 questions lie: that stratifies by
type, and a file that lacks a question still gives all others the same side. No figure had a say in it."""
_SALT = "development"
"""Other than the seeds of samples, so that a sample is of both sides."""


def side(benchmark: str, question: str, history: str, kind: str) -> Side:
    """Where a question belongs.

    Args:
        benchmark: The benchmark's name.
        question: The question's id, by which LongMemEval is split: a fifth is for development.
        history: The history's id, by which LoCoMo is split: conversations 30, 41 and 42 are for development, and 26 is
            apart, because another study has tuned on it.
        kind: The question's type.

    Returns:
        The side; a benchmark on which nothing is tuned is all `rest`.
    """
    if benchmark in _LONGMEMEVAL:
        return "development" if _lot(question) < _FIFTHS.get(kind, 0.0) else "rest"
    if benchmark in _LOCOMO and history in _APART:
        return "apart"
    if benchmark in _LOCOMO and history in _DEVELOPMENT_CONVERSATIONS:
        return "development"
    return "rest"


def _lot(question: str) -> float:
    """A number within [0, 1) that an id hashes to."""
    digest = hashlib.sha256(f"{_SALT}:{question}".encode("utf-8", "surrogatepass")).digest()
    return int.from_bytes(digest[:8], "big") / 2**64
