"""Checking a benchmark's file: which benchmark it is, whether it loads, and what it holds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from memory.conversation import Conversations
from memory.errors import BadInput
from tasks.benchmarks import (
    atant,
    beam,
    factconsolidation,
    find,
    locomo,
    longmemeval,
    memoryarena,
    own,
    personamem,
)
from tasks.benchmarks.reading import values


@dataclass(frozen=True, slots=True)
class Report:
    """What a benchmark's file holds.

    Attributes:
        benchmark: The benchmark that the file belongs to.
        variant: As in `Conversations`.
        sha256: As in `Conversations`.
        questions: How many there are of each type.
        abstention: Questions whose right answer is that the history does not say.
        histories: Histories.
        sessions: Sessions, counted in every history that holds them.
        distinct_sessions: Sessions that differ in id or text.
        turns: Turns, counted likewise.
        distinct_turns: Turns that differ in speaker or text.
        evidence_turns: Pairs of a question and a turn that holds its answer.
        without_evidence: Questions that no turn is evidence for.
        unresolved_evidence: Evidence references that match no turn.
        notes: As in `Conversations`.
    """

    benchmark: str
    variant: str
    sha256: str
    questions: dict[str, int]
    abstention: int
    histories: int
    sessions: int
    distinct_sessions: int
    turns: int
    distinct_turns: int
    evidence_turns: int
    without_evidence: int
    unresolved_evidence: int
    notes: tuple[str, ...]

    def __str__(self) -> str:
        """The report for a person, one fact a line."""
        types = ", ".join(f"{kind} {count:,}" for kind, count in self.questions.items()) or "none"
        lines = (
            f"benchmark   {self.benchmark} ({self.variant})",
            f"sha256      {self.sha256}",
            f"questions   {sum(self.questions.values()):,}: {types}",
            f"abstention  {self.abstention:,}",
            f"histories   {self.histories:,}",
            f"sessions    {self.sessions:,} ({self.distinct_sessions:,} distinct)",
            f"turns       {self.turns:,} ({self.distinct_turns:,} distinct)",
            f"evidence    {self.evidence_turns:,} turns; {self.without_evidence:,} questions without; "
            f"{self.unresolved_evidence:,} references unresolved",
            *(f"note        {note}" for note in self.notes),
        )
        return "\n".join(lines)


def validate(path: Path) -> Report:
    """Load a file strictly as the benchmark that its first row belongs to, or a folder of one's own conversations.

    Raises:
        BadInput: If it is no benchmark's file, or anything in it cannot be used.
    """
    return report(_load(path))


_BY_FIELDS: tuple[tuple[frozenset[str], Callable[[Path], Conversations]], ...] = (
    (frozenset({"haystack_sessions"}), longmemeval.load),
    (frozenset({"conversation", "qa"}), partial(locomo.load, benchmark="locomo")),
    (frozenset({"stories"}), partial(atant.load, benchmark=atant.ATANT)),
    (frozenset({"story_id"}), partial(atant.load, benchmark=atant.ATANT)),
    (frozenset({"all_options", "shared_context_id"}), partial(personamem.load, benchmark=personamem.NAME)),
)
"""Fields that only rows of one benchmark have, and its loader."""


def _load(path: Path) -> Conversations:
    if path.is_dir():
        return own.load(find(own.OWN, path))
    if beam.is_archive(path):
        return beam.load(path, beam.NAME)
    _, first = next(values(path, remedy="fetch the file again", hint="give the benchmark's own file"))
    fields = set(first) if isinstance(first, dict) else set()
    found = next((loader for known, loader in _BY_FIELDS if known <= fields), None) or _by_row(first, fields)
    if found is None:
        raise BadInput(
            f"{path}: row 1: neither LongMemEval (haystack_sessions) nor LoCoMo (conversation, qa) nor MemoryArena "
            "(questions, answers) nor MemoryAgentBench (context, metadata) nor PersonaMem (all_options, "
            "shared_context_id) nor ATANT (stories, or story_id) nor one's own turns (text, speaker)"
        )
    return found(path)


def _by_row(first: Any, fields: set[str]) -> Callable[[Path], Conversations] | None:
    """The loader of a file whose first row says more than that it is of a benchmark: which part of it."""
    if name := factconsolidation.benchmark_of(first) if fields else None:
        return partial(factconsolidation.load, benchmark=name)
    if task := memoryarena.task_of(first) if fields else None:
        return partial(memoryarena.load, benchmark=f"{memoryarena.PREFIX}{task}")
    return own.load if "text" in fields and fields <= own.OwnTurn.model_fields.keys() else None


def report(conversations: Conversations) -> Report:
    """Count what loaded conversations hold."""
    questions = conversations.questions
    sessions = [session for history in conversations.histories.values() for session in history.sessions]
    spoken = [tuple((turn.speaker, turn.text) for turn in session.turns) for session in sessions]
    return Report(
        benchmark=conversations.benchmark,
        variant=conversations.variant,
        sha256=conversations.sha256,
        questions=dict(Counter(question.type for question in questions).most_common()),
        abstention=sum(question.abstention for question in questions),
        histories=len(conversations.histories),
        sessions=len(sessions),
        distinct_sessions=len({(s.id, text) for s, text in zip(sessions, spoken, strict=True)}),
        turns=sum(map(len, spoken)),
        distinct_turns=len({turn for text in spoken for turn in text}),
        evidence_turns=sum(len(question.evidence) for question in questions),
        without_evidence=sum(not question.evidence for question in questions),
        unresolved_evidence=sum(len(question.unresolved_evidence) for question in questions),
        notes=conversations.notes,
    )
