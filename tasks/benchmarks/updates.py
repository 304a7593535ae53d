"""LME-KU of RD-Forget: the 78 knowledge-update questions of LongMemEval's oracle part."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memory.conversation import Conversations
from memory.errors import BadInput
from tasks.benchmarks import longmemeval

NAME = "lme-ku"

_TYPE = "knowledge-update"


def load(path: Path, benchmark: str) -> Conversations:
    """Load LongMemEval's oracle file and keep its knowledge-update questions, in its order, with their histories.

    Raises:
        BadInput: As `longmemeval.load`, or if no question is left.
    """
    whole = longmemeval.load(path, "longmemeval-oracle")
    questions = tuple(question for question in whole.questions if question.type == _TYPE)
    if not questions:
        raise BadInput(f"{path}: holds no question of type {_TYPE}; give LongMemEval's own oracle file")
    return replace(
        whole,
        benchmark=benchmark,
        variant=f"{whole.variant}, knowledge-update questions",
        histories={question.history: whole.histories[question.history] for question in questions},
        questions=questions,
        notes=(f"questions of other types left out: {len(whole.questions) - len(questions):,}",),
    )
