"""Stage `words`: how much of the evidence a context of so many words holds; no model is asked but the embedder."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from memory.conversation import History, Question
from memory.errors import CallFailed
from memory.protocol import Budgeted
from results.answer_match import normalised, occurs, wanted
from results.tables import from_rows
from tasks.context import open_embedder
from tasks.load import loaded
from tasks.memories import memories
from tasks.stage import Made, Stage, Work, count

_WORDS: dict[str, pa.DataType] = {
    "condition": pa.string(),
    "question": pa.string(),
    "words": pa.int64(),
    "status": pa.string(),
    "reason": pa.string(),
    "final": pa.bool_(),
    "evidence_recall": pa.float64(),
    "verbatim_recall": pa.float64(),
    "answer_in_context": pa.float64(),
    "context_words": pa.int64(),
    "items": pa.int64(),
}
WORDS = pa.schema(_WORDS)


def make(work: Work) -> Made:
    """Recall within each number of words for all questions of a batch of histories."""
    histories, questions, _ = loaded(work)
    rows: list[dict[str, Any]] = []
    for history, open_one in memories(work):
        asked = [question for question in questions if question.history == history]
        try:
            memory = open_one()
        except CallFailed as failed:
            rows += [_failed(question, size, f"memory: {failed.reason}", failed.final) for question in asked
                     for size in work.params["words"]]  # fmt: skip
            continue
        if isinstance(memory, Budgeted):
            for question in asked:
                rows += _question_rows(memory, question, histories[history], work.params["words"])
    named = [{"condition": work.params["condition"]["name"], **row} for row in rows]
    return Made({"words": from_rows(named, WORDS)}, count(named))


def embedded(work: Work) -> Made:
    """The part of `make` that is paid for: the questions are embedded, and that is all."""
    texts = [question.text for question in loaded(work)[1] if question.history in work.params["histories"]]
    if "embedder" in work.params["models"]:
        open_embedder(work).embed(texts)
    return Made({}, {})


def _question_rows(
    memory: Budgeted, question: Question, history: History, sizes: Sequence[int]
) -> list[dict[str, Any]]:
    texts = {turn.id: normalised(turn.text) for turn in history.turns if turn.id in question.evidence}
    forms = wanted(question.reference)
    said = any(occurs(forms, text) for text in texts.values())
    try:
        recalls = memory.recall_within(question.query(), sizes)
    except CallFailed as failed:
        return [_failed(question, size, failed.reason, failed.final) for size in sizes]
    rows = []
    for size, recall in zip(sizes, recalls, strict=True):
        context = normalised(recall.context)
        found = set(recall.stands_on) & set(question.evidence)
        rows.append(
            {
                "question": question.id,
                "words": size,
                "status": "ok",
                "evidence_recall": len(found) / len(texts) if texts else None,
                "verbatim_recall": sum(t in context for t in texts.values()) / len(texts) if texts else None,
                "answer_in_context": float(occurs(forms, context)) if said else None,
                "context_words": len(recall.context.split()),
                "items": recall.items,
            }
        )
    return rows


def _failed(question: Question, size: int, reason: str, final: bool) -> dict[str, Any]:
    return {"question": question.id, "words": size, "status": "failed", "reason": reason, "final": final}


STAGE = Stage("words", 1, make)
