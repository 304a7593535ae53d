"""The judges that are rules: they decide at once, and ask no model."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from memory.conversation import Question
from results import rules
from tasks.prompts.judge import RuleJudge, Verdict


def _substring(question: Question, answer: str) -> Verdict:
    agreed = rules.substring(answer, question.accepted or (question.reference,))
    if agreed is None:
        return Verdict(False, "rule substring: neither has a reference's normalised text nor is part of one")
    return Verdict(True, f"rule substring: agrees with {agreed!r}")


def _choice(question: Question, answer: str) -> Verdict:
    chosen = rules.choice(answer, question.options)
    if chosen is None:
        return Verdict(False, "rule choice: names no single option")
    return Verdict(chosen == question.reference, f"rule choice: {chosen[:3]}")


def _strings(question: Question, answer: str) -> Verdict:
    lacking = rules.strings(answer, question.contains or (question.reference,))
    if lacking:
        return Verdict(False, f"rule strings: lacks {', '.join(map(repr, lacking))}")
    return Verdict(True, "rule strings: has every expected string")


RULES: Mapping[RuleJudge, Callable[[Question, str], Verdict]] = {
    "substring": _substring,
    "choice": _choice,
    "strings": _strings,
}
"""By the judge's name. MAB-FC's rule is RD-Forget's (section 5.1); a question without options is never chosen right; a
question without strings has to be answered in the reference's own words."""

VERSION = "rule 1"
"""Raised whenever a rule would decide otherwise."""
