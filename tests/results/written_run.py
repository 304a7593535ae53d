"""A small run folder written table by table, so that every text and figure in it is known."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from results.schemas import ANSWERS, METRICS, QUESTIONS, RECALLS, TURNS, VERDICTS
from results.tables import from_rows, write

NOON = datetime(2024, 2, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Asked:
    """A question with the row of each condition: answer, verdict (1, 0, none), F1, and the turns recalled."""

    id: str
    type: str
    text: str
    reference: str
    evidence: Sequence[str]
    rows: Mapping[str, tuple[str, float | None, float, Sequence[str]]]


def write_run(
    folder: Path,
    turns: Mapping[str, str],
    questions: Sequence[Asked],
    why: str = "because",
    context: str = "the context",
    contexts: Callable[[], str] | None = None,
    **about: Any,
) -> Path:
    """Write the run and return its folder; `contexts` makes one for each row, which else all have the same."""
    folder.mkdir(parents=True, exist_ok=True)
    told = {
        "name": folder.name,
        "status": "complete",
        "study": {
            "study": "representation",
            "seed": 0,
            "resamples": 200,
            "models": {"judge": "offline:lexical"},
        },
        "sha256": "ab" * 32,
        "variant": "a written benchmark",
        "versions": {"palimpsest": "0"},
        "updated": "2024-02-01T12:00:00+00:00",
        **about,
    }
    (folder / "run.json").write_text(json.dumps(told))
    write(folder / "turns.parquet", from_rows([_turn(*turn) for turn in turns.items()], TURNS))
    write(folder / "questions.parquet", from_rows([_question(q) for q in questions], QUESTIONS))
    rows = [(q, name, row) for q in questions for name, row in q.rows.items()]
    write(
        folder / "recalls.parquet",
        from_rows([_recall(*row, contexts() if contexts else context) for row in rows], RECALLS),
    )
    write(folder / "answers.parquet", from_rows([_answer(*row) for row in rows], ANSWERS))
    write(folder / "verdicts.parquet", from_rows([_verdict(*row, why) for row in rows], VERDICTS))
    write(folder / "metrics.parquet", from_rows([_metric(*row) for row in rows], METRICS))
    return folder


Row = tuple[str, float | None, float, Sequence[str]]


def _turn(name: str, text: str) -> dict[str, Any]:
    return {
        "history": "h",
        "session_position": 0,
        "session": "s",
        "date": NOON,
        "turn": name,
        "role": "user",
        "text": text,
    }


def _question(q: Asked) -> dict[str, Any]:
    return {
        "question": q.id,
        "history": f"h-{q.id}",
        "type": q.type,
        "text": q.text,
        "reference": q.reference,
        "date": NOON,
        "evidence": list(q.evidence),
        "unresolved_evidence": [],
        "abstention": False,
    }


def _recall(q: Asked, condition: str, row: Row, context: str) -> dict[str, Any]:
    return {
        "question": q.id,
        "condition": condition,
        "status": "ok",
        "context": context,
        "context_tokens": 3,
        "items": len(row[3]),
        "turns": list(row[3]),
        "scores": [1 / place for place in range(1, len(row[3]) + 1)],
    }


def _answer(q: Asked, condition: str, row: Row) -> dict[str, Any]:
    return {"question": q.id, "condition": condition, "status": "ok", "answer": row[0]}


def _verdict(q: Asked, condition: str, row: Row, why: str) -> dict[str, Any]:
    judged = row[1] is not None
    verdict = {"question": q.id, "condition": condition, "status": "judged" if judged else "unparsed"}
    return {**verdict, "correct": bool(row[1]) if judged else None, "why": why if judged else None}


def _metric(q: Asked, condition: str, row: Row) -> dict[str, Any]:
    _, judge, f1, recalled = row
    found = [turn for turn in recalled[:5] if turn in q.evidence]
    first = next((place for place, turn in enumerate(recalled, 1) if turn in q.evidence), None)
    return {
        "question": q.id,
        "history": f"h-{q.id}",
        "type": q.type,
        "condition": condition,
        "abstention": False,
        "status": "answered",
        "precision": f1,
        "recall": f1,
        "f1": f1,
        "judge": judge,
        "judge_status": "judged" if judge is not None else "unparsed",
        "context_tokens": 3,
        "turn_recall_5": len(found) / len(q.evidence),
        "turn_mrr": 0.0 if first is None else 1 / first,
    }


TURNS_SAID = {f"t{number}": f"turn number {number} says a thing" for number in range(8)}

QUESTIONS_ASKED = (
    Asked("q1", "single", "Where is the red kite?", "in the shed", ["t1"], {
        "flat": ("in the shed", 1.0, 1.0, ["t1", "t2"]),
        "graph": ("on the roof", 0.0, 0.25, ["t3", "t4"]),
    }),
    Asked("q2", "single", "Who called Ágnes?", "her aunt", ["t2"], {
        "flat": ("nobody", 0.0, 0.0, ["t5"]),
        "graph": ("her aunt", 1.0, 1.0, ["t4", "t2"]),
    }),
    Asked("q3", "multi", "How many boats are there?", "three", ["t3", "t6"], {
        "flat": ("three", 1.0, 0.75, ["t3"]),
        "graph": ("three", None, 0.75, ["t3", "t6"]),
    }),
)  # fmt: skip
