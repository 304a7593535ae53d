"""Stage `load`: a benchmark's file becomes the tables `turns` and `questions`, and these become conversations again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from memory.conversation import Conversations, History, Observation, Question, Session, Turn
from memory.errors import BadInput
from memory.prompts.extraction import spoken_text
from results.schemas import QUESTIONS, TURNS
from results.tables import from_rows
from tasks.benchmarks import files_of, load
from tasks.benchmarks.limits import ask, limit
from tasks.runs import read_run
from tasks.stage import Artefact, Made, Stage, Work

_KEPT = 64
"""Histories that are kept as objects at once."""


def conversations_of(
    benchmark: str, data: Path | None, limited: int | None, questions: int | None, seed: int
) -> Conversations:
    """A benchmark, cut to what the study asks. Kept for the process, because planning and loading both need it.

    Raises:
        BadInput: If the file is not the benchmark, or not strictly right.
    """
    # A missing file is said by its loader.
    now = [path.stat() for path in files_of(benchmark, data) if path.exists()]
    stamp = tuple((file.st_mtime_ns, file.st_size, file.st_ino) for file in now)
    return _conversations(benchmark, data, stamp, limited, questions, seed)


@lru_cache(maxsize=1)
def _conversations(
    benchmark: str,
    data: Path | None,
    stamp: tuple[tuple[int, int, int], ...],
    limited: int | None,
    questions: int | None,
    seed: int,
) -> Conversations:
    """`stamp` says which writing of the files it is: a process that lives long may see several."""
    conversations = load(benchmark, data)
    if limited is not None:
        conversations = limit(conversations, limited, seed)
    if questions is not None:
        conversations = ask(conversations, questions, seed)
    return conversations


def content_id(turn: Turn) -> str:
    """Hash of what an extractor reads of a turn. Equal turns of any histories are extracted once."""
    text = json.dumps([turn.speaker, spoken_text(turn)], ensure_ascii=False)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def turns_table(conversations: Conversations) -> pa.Table:
    """The `turns` table, in file order; made history by history, because rows take several times a table's room."""
    parts = [_turns_of(history) for history in conversations.histories.values()]
    return pa.concat_tables([TURNS.empty_table(), *parts])


def _turns_of(history: History) -> pa.Table:
    rows = [
        {
            "history": history.id,
            "session_position": session.position,
            "session": session.id,
            "date": session.date,
            "turn": turn.id,
            "role": turn.role,
            "speaker": turn.speaker,
            "text": turn.text,
            "caption": turn.caption,
            "content": content_id(turn),
            "observations": [
                {"text": found.text, "turns": list(found.turns)}
                for found in session.observations
                if found.turns[-1] == turn.id
            ],
        }
        for session in history.sessions
        for turn in session.turns
    ]
    return from_rows(rows, TURNS)


def questions_table(conversations: Conversations) -> pa.Table:
    """The `questions` table, in file order."""
    rows = [
        {
            "question": q.id,
            "history": q.history,
            "type": q.type,
            "text": q.text,
            "reference": q.reference,
            "reference_kind": q.reference_kind,
            "date": q.date,
            "evidence": list(q.evidence),
            "evidence_sessions": list(q.evidence_sessions),
            "unresolved_evidence": list(q.unresolved_evidence),
            "abstention": q.abstention,
            "after": q.after,
            "preamble": q.preamble,
            "options": list(q.options) or None,
            "accepted": list(q.accepted) or None,
            "contains": list(q.contains) or None,
        }
        for q in conversations.questions
    ]
    return from_rows(rows, QUESTIONS)


def make(work: Work) -> Made:
    """Load the benchmark that the run names.

    Raises:
        BadInput: If its file is not the one that the run began with.
    """
    run = read_run(work.folder)
    study = run.study
    data = Path(run.data) if run.data else None
    conversations = conversations_of(study.benchmark, data, study.limit, study.questions, study.seed)
    if conversations.sha256 != work.params["sha256"]:
        raise BadInput(f"{run.data}: has changed since the run began; start the study again")
    return made(conversations)


def made(conversations: Conversations) -> Made:
    """The tables of conversations."""
    tables = {"turns": turns_table(conversations), "questions": questions_table(conversations)}
    counts = {
        "histories": len(conversations.histories),
        "sessions": sum(len(h.sessions) for h in conversations.histories.values()),
        "turns": tables["turns"].num_rows,
        "distinct_turns": len(set(tables["turns"]["content"].to_pylist())),
        "questions": tables["questions"].num_rows,
    }
    return Made(tables, counts)


STAGE = Stage("load", 4, make)


def histories_of(turns: pa.Table) -> dict[str, History]:
    """The histories that a `turns` table holds, by id, in the table's order."""
    sessions: dict[str, dict[int, list[dict[str, Any]]]] = {}
    for row in turns.to_pylist():
        sessions.setdefault(row["history"], {}).setdefault(row["session_position"], []).append(row)
    return {
        history: History(history, tuple(_session(history, rows) for rows in by_position.values()))
        for history, by_position in sessions.items()
    }


def _session(history: str, rows: list[dict[str, Any]]) -> Session:
    turns = tuple(Turn(r["turn"], r["role"], r["speaker"], r["text"], r["caption"]) for r in rows)
    first = rows[0]
    # A run that an earlier version began has no such column.
    observed = tuple(
        Observation(found["text"], tuple(found["turns"]))
        for row in rows
        for found in row["observations"] or ()
    )
    return Session(first["session"], history, first["session_position"], first["date"], turns, observed)


def questions_of(questions: pa.Table) -> list[Question]:
    """The questions that a `questions` table holds, in its order."""
    return [
        Question(
            id=row["question"],
            history=row["history"],
            type=row["type"],
            text=row["text"],
            reference=row["reference"],
            reference_kind=row["reference_kind"],
            date=row["date"],
            evidence=tuple(row["evidence"]),
            evidence_sessions=tuple(row["evidence_sessions"]),
            unresolved_evidence=tuple(row["unresolved_evidence"]),
            abstention=row["abstention"],
            after=row["after"],
            preamble=row["preamble"],
            options=tuple(row["options"] or ()),
            accepted=tuple(row["accepted"] or ()),
            contains=tuple(row["contains"] or ()),
        )
        for row in questions.to_pylist()
    ]


class Histories(Mapping[str, History]):
    """The histories of a `turns` table, in its order, of which only those last asked for are kept as objects.

    A benchmark's turns as objects take several times the room of their table: of LongMemEval-S, gigabytes.
    """

    def __init__(self, turns: pa.Table) -> None:
        self._turns = turns
        names = turns["history"].combine_chunks().dictionary_encode()
        codes = names.indices.to_numpy(zero_copy_only=False)
        starts = np.flatnonzero(np.diff(codes, prepend=-1))  # a history's turns stand together
        ends = [*starts[1:].tolist(), len(codes)]
        self._rows = {
            names[int(first)].as_py(): (int(first), end) for first, end in zip(starts, ends, strict=True)
        }
        self._made = lru_cache(maxsize=_KEPT)(self._make)

    def _make(self, name: str) -> History:
        first, end = self._rows[name]
        return histories_of(self._turns.slice(first, end - first))[name]

    def __getitem__(self, name: str) -> History:
        return self._made(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self._rows)

    def __len__(self) -> int:
        return len(self._rows)


Loaded = tuple[Mapping[str, History], list[Question], dict[str, str]]


@lru_cache(maxsize=2)
def _loaded(run: str, artefact: str) -> Loaded:
    loaded = Artefact.model_validate_json(artefact)
    turns = loaded.read(Path(run), "turns", TURNS)
    questions = questions_of(loaded.read(Path(run), "questions", QUESTIONS))
    names, read = (turns[column].to_pylist() for column in ("turn", "content"))
    contents = {str(turn): str(content) for turn, content in zip(names, read, strict=True)}
    return Histories(turns), questions, contents


def loaded(work: Work) -> Loaded:
    """Histories by id, questions in order, and content ids by turn, from a work's input `load`; kept per process."""
    return _loaded(work.run, work.inputs["load"].model_dump_json())
