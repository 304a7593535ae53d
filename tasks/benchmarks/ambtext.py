"""AMB-Text of RD-Forget: 86 text questions of LoCoMo's first conversation, as AgentMemoryBench distributes it.

RD-Forget leaves out category 5, questions with images, and questions without a session boundary (section 5.1). What an
image question and a boundary are, LoCoMo's own file does not say; AgentMemoryBench's copy of the conversation does, by
two fields: `is_multi_modality`, and `where`, the last session of a question's evidence. Read so, the copy gives 86:

- Of 152 questions of categories 1 to 4, 57 have evidence with the address of an image, which leaves 95.
- One of these has no evidence, and so no boundary (30). A second one without evidence in LoCoMo (46) has been given
  some, in session 3.
- Seven are missing from the copy (14, 19, 33, 34, 50, 59, 69), and one is marked as an image question (151).

LoCoMo's own fields come to 86 as well, if evidence with a caption is what makes an image question (88 are left) and the
two without evidence are left out; but seven of these are others. Here are asked those of the copy, in the words and
with the evidence and reference answers of LoCoMo's file; the copy accepts further wordings of some answers.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from memory.conversation import Conversations, Question
from memory.errors import BadInput
from tasks.benchmarks import locomo

NAME = "amb-text"

_CONVERSATION = "conv-26"
_BELOW_82 = (
    *(0, 2, 3, 5, 6, 7, 8, 10, 11, 12, 13, 17, 22, 25, 27, 28, 31, 35, 36, 37, 39, 41, 44, 45, 46),
    *(58, 60, 61, 63, 64, 65, 72, 73, 76, 79, 81),
)
_FROM_82 = (
    *(*range(82, 90), *range(91, 103), *range(105, 109), 111, 113, 114, 116, 117, 119, 120, 121, 122, 123),
    *(126, 128, 129, 130, 131, 132, 134, 135, 136, 139, 141, 142, 144, 146, 149, 150),
)
QUESTIONS = (*_BELOW_82, *_FROM_82)
"""Places of the questions in LoCoMo's list, from 0."""

_BOUNDARIES = {37: 8, 46: 3}
"""Boundaries that do not follow from LoCoMo's evidence: of `D8:6; D9:17` the copy reads the first part alone."""


def load(path: Path, benchmark: str) -> Conversations:
    """Load LoCoMo's file and keep AMB-Text; a question's `after` is the number of sessions up to its boundary.

    Evidence beyond the boundary, which no memory has heard, is no evidence.

    Raises:
        BadInput: As `locomo.load`, or if the file lacks the conversation or one of the questions.
    """
    whole = locomo.load(path, "locomo")
    asked = {question.id: question for question in whole.questions}
    wanted = {f"{_CONVERSATION}:{place}": place for place in QUESTIONS}
    missing = [name for name in wanted if name not in asked]
    if missing:
        raise BadInput(f"{path}: lacks the question {missing[0]} of {benchmark}; give LoCoMo's own file")
    return replace(
        whole,
        benchmark=benchmark,
        variant=f"{whole.variant}: AMB-Text of RD-Forget",
        histories={_CONVERSATION: whole.histories[_CONVERSATION]},
        questions=tuple(_bounded(asked[name], place, path) for name, place in wanted.items()),
        notes=(
            "asked after the session of their last evidence: all",
            "reference answers: LoCoMo's; AgentMemoryBench accepts further wordings of some",
        ),
    )


def _bounded(question: Question, place: int, path: Path) -> Question:
    after = _BOUNDARIES.get(place) or max(question.evidence_sessions, default=-1) + 1
    if not after:
        raise BadInput(
            f"{path}: question {question.id} names no evidence, and so no session; give LoCoMo's own file"
        )
    sessions = tuple(session for session in question.evidence_sessions if session < after)
    heard = tuple(f"{question.history}#{session}." for session in sessions)
    evidence = tuple(turn for turn in question.evidence if turn.startswith(heard))
    return replace(question, after=after, evidence_sessions=sessions, evidence=evidence)
