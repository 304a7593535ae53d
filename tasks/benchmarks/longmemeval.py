"""LongMemEval (Wu et al., 2025): 500 questions, each with a haystack of chat sessions of its own.

The built-in sample has the same format. Every question has a history of its own, with the question's id.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memory.conversation import Conversations, History, Question, Session, Turn, turn_id
from memory.errors import BadInput
from tasks.benchmarks.dates import longmemeval_date
from tasks.benchmarks.reading import checked, rows, sha256, shortened

RELEASES = {
    "d2bce22bc584c50c4057380e33abdb43a5eaf92d08354c6a4baa6ebc3a3ea189": (
        "sample",
        "built-in sample, version 1",
    ),
    "821a2034d219ab45846873dd14c14f12cfe7776e73527a483f9dac095d38620c": (
        "longmemeval-oracle",
        "LongMemEval oracle, cleaned release",
    ),
    "d6f21ea9d60a0d56f34a05b609c79c88a451d2ae03597821ea3d5a9678c3a442": (
        "longmemeval-s",
        "LongMemEval S, cleaned release",
    ),
    "0aaf6978d85030a316d3a4fa07236e77c1e0986227841e7b15af05f97e0747b9": (
        "longmemeval-s",
        "LongMemEval S, cleaned release, without gpt4_7a0daae1",
    ),
}
"""Benchmark and variant of known files, by the sha256 of their uncompressed bytes."""

QuestionType = Literal[
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "multi-session",
    "knowledge-update",
    "temporal-reasoning",
]
_ROLES = ("user", "assistant")
_Filled = Annotated[str, StringConstraints(pattern=r"\S")]


class _Turn(BaseModel):
    model_config = ConfigDict(strict=True)

    role: str
    content: str
    has_answer: bool | None = None


class _Row(BaseModel):
    model_config = ConfigDict(strict=True, allow_inf_nan=False)

    question_id: _Filled
    question_type: QuestionType
    question: _Filled
    answer: _Filled | int | float
    question_date: str
    haystack_dates: list[str]
    haystack_session_ids: list[str]
    haystack_sessions: list[list[_Turn]] = Field(min_length=1)
    answer_session_ids: list[str]


def load(path: Path, benchmark: str | None = None) -> Conversations:
    """Load a file in LongMemEval's format, as the `benchmark` that it must be, or as the one that it is.

    Turns of roles other than user and assistant are left out, as the reference code does, and counted in the
    notes; blank turns are kept. Positions, and so turn ids, are those of the file.

    Raises:
        BadInput: If the file is not in the format, a date cannot be read, the arrays of a row differ in
            length, a question id recurs, or the file is another benchmark's.
    """
    histories: dict[str, History] = {}
    questions: list[Question] = []
    left_out: Counter[str] = Counter()
    texts: dict[str, str] = {}
    for place, value in rows(path):
        row = checked(_Row, value, f"{path}: {place}{_named(value)}")
        where = f"{path}: {place} (question {shortened(row.question_id)})"
        if row.question_id in histories:
            raise BadInput(f"{where}: this question id stands in the file twice; remove one of the rows")
        history = _history(row, where, texts)
        left_out.update(
            turn.role for turns in row.haystack_sessions for turn in turns if turn.role not in _ROLES
        )
        histories[history.id] = history
        questions.append(_question(row, where))
    digest = sha256(path)
    name, variant = RELEASES.get(digest) or (_part(histories, questions), "LongMemEval, unrecognised release")
    if benchmark not in (None, name):
        # A result under the other part's name would look far too good, or too bad.
        raise BadInput(
            f"{path}: is a file of {name}, not of {benchmark}; choose {name}, or give another file"
        )
    notes = _notes(histories.values(), questions, left_out)
    return Conversations(name, variant, digest, histories, tuple(questions), notes)


def _named(value: object) -> str:
    """The question id of a row that has not been checked yet, for an error message."""
    name = value.get("question_id") if isinstance(value, dict) else None
    return f" (question {shortened(name)})" if isinstance(name, str) else ""


def _history(row: _Row, where: str, texts: dict[str, str]) -> History:
    """The row's haystack. `texts` makes equal texts one object: S repeats a quarter of its turns."""
    lengths = (len(row.haystack_session_ids), len(row.haystack_dates), len(row.haystack_sessions))
    if len(set(lengths)) > 1:
        ids, dates, sessions = lengths
        raise BadInput(
            f"{where}: {ids} session ids, {dates} dates, {sessions} sessions; they must be as many"
        )
    sessions_read = []
    columns = zip(row.haystack_session_ids, row.haystack_dates, row.haystack_sessions, strict=True)
    for position, (session_id, date, turns) in enumerate(columns):
        kept = tuple(
            Turn(
                turn_id(row.question_id, position, index),
                turn.role,
                turn.role,
                texts.setdefault(turn.content, turn.content),
            )
            for index, turn in enumerate(turns)
            if turn.role in _ROLES
        )
        read = _date(date, f"{where}: haystack_dates.{position}")
        sessions_read.append(Session(session_id, row.question_id, position, read, kept))
    return History(row.question_id, tuple(sessions_read))


def _date(text: str, where: str) -> datetime:
    try:
        return longmemeval_date(text)
    except ValueError as error:
        raise BadInput(f"{where}: {shortened(text)} is not a date ({error}); correct the row") from error


def _question(row: _Row, where: str) -> Question:
    evidence: list[str] = []
    unresolved = [name for name in row.answer_session_ids if name not in row.haystack_session_ids]
    for position, turns in enumerate(row.haystack_sessions):
        for index, turn in enumerate(turns):
            if turn.has_answer:
                name = turn_id(row.question_id, position, index)
                (evidence if turn.role in _ROLES else unresolved).append(name)
    return Question(
        id=row.question_id,
        history=row.question_id,
        type=row.question_type,
        text=row.question,
        reference=str(row.answer),
        reference_kind=type(row.answer).__name__,
        date=_date(row.question_date, f"{where}: question_date"),
        evidence=tuple(evidence),
        evidence_sessions=tuple(
            position
            for position, name in enumerate(row.haystack_session_ids)
            if name in row.answer_session_ids
        ),
        unresolved_evidence=tuple(unresolved),
        abstention=row.question_id.endswith("_abs"),
    )


def _part(histories: Mapping[str, History], questions: Iterable[Question]) -> str:
    """The part of LongMemEval that a file is: histories of evidence sessions only make the oracle part."""
    oracle = all(len(histories[q.history].sessions) == len(q.evidence_sessions) for q in questions)
    return "longmemeval-oracle" if oracle else "longmemeval-s"


def _notes(
    histories: Iterable[History], questions: Iterable[Question], left_out: Counter[str]
) -> tuple[str, ...]:
    met: Counter[str] = Counter()
    for history in histories:
        names = [session.id for session in history.sessions]
        met["histories that hold a session twice"] += len(set(names)) < len(names)
        met["histories not in order of time"] += history.by_date() != history.sessions
        met["blank turns"] += sum(not turn.text.strip() for turn in history.turns)
        met["sessions without turns"] += sum(not session.turns for session in history.sessions)
    for question in questions:
        met["questions without an evidence turn"] += not question.evidence
        met["reference answers that are not text"] += question.reference_kind != "str"
        met["evidence references that match nothing"] += len(question.unresolved_evidence)
    for role, count in sorted(left_out.items()):
        met[f"turns of role {shortened(role)} left out"] += count
    return tuple(f"{fact}: {count:,}" for fact, count in met.items() if count)
