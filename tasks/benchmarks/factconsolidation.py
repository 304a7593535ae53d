"""MemoryAgentBench's conflict resolution (Hu et al.): numbered facts, of which a later one replaces an earlier one.

The file holds eight sources: questions of one or several hops, each over facts of four sizes. One source is a
benchmark here, with one history that all its questions share.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from memory.conversation import Conversations, History, Question, Session, Turn, turn_id
from memory.errors import BadInput
from tasks.benchmarks.reading import checked, rows, sha256, shortened

PREFIX = "mab-fc"
"""The benchmark of `mh-6k`, the source that RD-Forget uses; the others have the source's name after it."""

SOURCES = tuple(f"{hops}-{size}" for hops in ("mh", "sh") for size in ("6k", "32k", "64k", "262k"))
"""The file's sources, each without its `factconsolidation_` and with a dash: `mh` has several hops, `sh` one."""
_DEFAULT = SOURCES[0]

FACTS_A_SESSION = 100
"""The benchmark has no sessions; a system that works session by session gets the facts in portions of so many."""

RELEASES = {
    "d5168e94cba99744e35031c1e6419e6090d63978f5addc9163d56704a78c7acd": "MemoryAgentBench, Conflict_Resolution",
}
"""Known files by the sha256 of their uncompressed bytes."""

_FACT = re.compile(r"([0-9]{1,7})\. \S.*")
_TYPES = {"mh": "multi-hop", "sh": "single-hop"}
_Filled = Annotated[str, StringConstraints(pattern=r"\S")]


class _Metadata(BaseModel):
    model_config = ConfigDict(strict=True)

    source: str


class _Row(BaseModel):
    model_config = ConfigDict(strict=True)

    context: str
    questions: list[_Filled] = Field(min_length=1)
    answers: list[Annotated[list[_Filled], Field(min_length=1)]]
    metadata: _Metadata


def benchmark_of(fields: Mapping[str, Any]) -> str | None:
    """The benchmark that a row belongs to; none if it is no row of MemoryAgentBench's conflict resolution."""
    if not {"context", "metadata"} <= fields.keys():
        return None
    metadata = fields["metadata"]
    named = str(metadata.get("source")) if isinstance(metadata, dict) else ""
    source = named.removeprefix("factconsolidation_").replace("_", "-")
    return PREFIX if source not in SOURCES[1:] else f"{PREFIX}-{source}"


def load(path: Path, benchmark: str) -> Conversations:
    """Load one source, which the benchmark's name says; `mab-fc-mh-6k` is `mab-fc` as well.

    A fact is a turn of the user, with its number before it. A question's id is its source and its place from 0; all
    of its answers are accepted.

    Raises:
        BadInput: If the file is not in the format or lacks the source, facts are not numbered from 0 in order, or
            questions and answers differ in number.
    """
    source = benchmark.removeprefix(PREFIX).removeprefix("-") or _DEFAULT
    wanted = f"factconsolidation_{source.replace('-', '_')}"
    found: list[str] = []
    for place, value in rows(path):
        where = f"{path}: {place}"
        row = checked(_Row, value, where)
        found.append(row.metadata.source)
        if row.metadata.source == wanted:
            return _conversations(row, source, benchmark, path, where)
    others = ", ".join(shortened(name) for name in found[:8])
    raise BadInput(f"{path}: holds no source {wanted!r}, only {others}; give MemoryAgentBench's own file")


def _conversations(row: _Row, source: str, benchmark: str, path: Path, where: str) -> Conversations:
    if len(row.questions) != len(row.answers):
        asked, answered = len(row.questions), len(row.answers)
        raise BadInput(f"{where}: {asked} questions, {answered} answers; they must be as many")
    digest = sha256(path)
    history = _history(source, _facts(row.context, where))
    questions = tuple(
        Question(
            id=f"{source}:{place}",
            history=source,
            type=_TYPES[source[:2]],
            text=text.strip(),
            reference=answers[0],
            accepted=tuple(answers),
        )
        for place, (text, answers) in enumerate(zip(row.questions, row.answers, strict=True))
    )
    release = RELEASES.get(digest, "MemoryAgentBench, unrecognised release")
    notes = (f"facts a session, which the benchmark does not have: {FACTS_A_SESSION}",)
    return Conversations(
        benchmark, f"{release}, {row.metadata.source}", digest, {source: history}, questions, notes
    )


def _facts(context: str, where: str) -> list[str]:
    """The numbered lines, after the line that introduces them."""
    lines = [line.strip() for line in context.splitlines() if line.strip()]
    facts = lines[1:] if lines and not _FACT.fullmatch(lines[0]) else lines
    for number, fact in enumerate(facts):
        match = _FACT.fullmatch(fact)
        if match is None or int(match[1]) != number:
            raise BadInput(f"{where}: context: {shortened(fact)} is not fact {number}; correct the row")
    if not facts:
        raise BadInput(f"{where}: context: holds no fact such as '0. It rains.'; correct the row")
    return facts


def _history(name: str, facts: list[str]) -> History:
    sessions = []
    for position, start in enumerate(range(0, len(facts), FACTS_A_SESSION)):
        turns = tuple(
            Turn(turn_id(name, position, index), "user", "user", fact)
            for index, fact in enumerate(facts[start : start + FACTS_A_SESSION])
        )
        sessions.append(Session(f"facts from {start}", name, position, None, turns))
    return History(name, tuple(sessions))
