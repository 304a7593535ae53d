"""What GRAFT's four prompts are answered with: the shapes that are asked for, and tolerant readers of what comes.

Ids and numbers are as the model wrote them: whoever acts on them looks them up.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel, Field

from memory.reply import read_json


@dataclass(frozen=True, slots=True)
class Edit:
    """An edit as a model has planned it.

    Attributes:
        kind: `fact` for CREATE_FACT, `concept` for CREATE_CONCEPT.
        text: The fact, or the concept's label.
        belief: Of a fact; none where the model gave no number.
        ids: The episodes that a fact stands on, or the items that a concept is to be joined to.
        concepts: The labels that a fact belongs to.
    """

    kind: Literal["fact", "concept"]
    text: str
    belief: float | None = None
    ids: tuple[str, ...] = ()
    concepts: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Verification:
    """What a verification says.

    Attributes:
        passed: Numbers of the edits that passed, from 1; none where the reply has no such list.
        reasons: Why others did not, by number.
    """

    passed: frozenset[int] | None
    reasons: dict[int, str]


class DiagnosisReply(BaseModel):
    """The reply that a diagnosis is asked for."""

    completeness: float = Field(ge=0, le=1)
    reason: str


class Probe(BaseModel):
    """A probe question."""

    question: str
    reasoning: str


class ProbesReply(BaseModel):
    """The reply that is asked for probe questions."""

    analysis_questions: list[Probe]


class PlanParameters(BaseModel):
    """What an edit is about; which fields are filled depends on its operation."""

    fact_text: str = ""
    belief: float = 1.0
    source_episode_ids: list[str] = Field(default_factory=list)
    concepts: list[str] = Field(default_factory=list)
    concept_label: str = ""
    connected_node_ids: list[str] = Field(default_factory=list)


class PlannedEdit(BaseModel):
    """An edit of a plan."""

    op_type: Literal["CREATE_FACT", "CREATE_CONCEPT"]
    params: PlanParameters
    root_cause: str


class RootCause(BaseModel):
    """Why something is missing."""

    issue: str
    cause: str
    source_episode: str


class Reasoning(BaseModel):
    """The steps before a plan."""

    inventory: str
    gaps: list[str]
    root_causes: list[RootCause]


class PlanReply(BaseModel):
    """The reply that a plan is asked for."""

    chain_of_thought: Reasoning
    edit_ops: list[PlannedEdit]


class Rejection(BaseModel):
    """Why an edit did not pass."""

    index: int
    reason: str


class VerificationReply(BaseModel):
    """The reply that a verification is asked for."""

    passed_indices: list[int]
    rejections: list[Rejection]


def read_diagnosis(text: str) -> float:
    """The completeness in a reply, within 0 and 1.

    Raises:
        ValueError: If there is no number.
    """
    value = _finite(_object(text).get("completeness"))
    if value is None:
        raise ValueError("the reply has no number `completeness`")
    return min(1.0, max(0.0, value))


def read_probes(text: str) -> list[str]:
    """The probe questions in a reply, blank ones left out; a list of bare questions is understood, too.

    Raises:
        ValueError: If there is no list of them.
    """
    written = _object(text).get("analysis_questions")
    if not isinstance(written, list):
        raise ValueError("the reply has no list `analysis_questions`")
    asked = [each.get("question") if isinstance(each, dict) else each for each in written]
    return list(dict.fromkeys(found.strip() for found in asked if isinstance(found, str) and found.strip()))


def read_plan(text: str) -> list[Edit]:
    """The edits in a reply, in order; what is neither of the two operations is passed over.

    Raises:
        ValueError: If there is no list of them.
    """
    written = _object(text).get("edit_ops")
    if not isinstance(written, list):
        raise ValueError("the reply has no list `edit_ops`")
    return [edit for each in written if isinstance(each, dict) and (edit := _edit(each)) is not None]


def _edit(written: dict[str, Any]) -> Edit | None:
    given = written.get("params")
    given = given if isinstance(given, dict) else {}
    match written.get("op_type"):
        case "CREATE_FACT":
            return Edit(
                "fact",
                _string(given.get("fact_text")),
                _finite(given.get("belief")),
                _strings(given.get("source_episode_ids")),
                _strings(given.get("concepts")),
            )
        case "CREATE_CONCEPT":
            label, ids = _string(given.get("concept_label")), _strings(given.get("connected_node_ids"))
            return Edit("concept", label, ids=ids)
    return None


def read_verification(text: str) -> Verification:
    """Which edits passed.

    Raises:
        ValueError: If the reply is no JSON object.
    """
    value = _object(text)
    written, why = value.get("passed_indices"), value.get("rejections")
    passed = frozenset(filter(_is_number, written)) if isinstance(written, list) else None
    reasons = {
        each["index"]: _string(each.get("reason"))
        for each in (why if isinstance(why, list) else ())
        if isinstance(each, dict) and _is_number(each.get("index"))
    }
    return Verification(passed, reasons)


def _object(text: str) -> dict[str, Any]:
    value = read_json(text)
    if not isinstance(value, dict):
        raise ValueError("the reply is no JSON object")
    return value


def _string(value: object) -> str:
    return value.strip() if isinstance(value, str) else ""


def _strings(value: object) -> tuple[str, ...]:
    """The strings of a list, each once; blank ones are left out."""
    found = (_string(each) for each in value) if isinstance(value, list) else ()
    return tuple(dict.fromkeys(each for each in found if each))


def _finite(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)
