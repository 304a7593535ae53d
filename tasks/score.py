"""Stage `score`: one row a question and condition with all its metrics; a missing figure is null, never zero."""

from __future__ import annotations

from typing import Any

from memory.conversation import Question
from results import token_metrics
from results.retrieval_metrics import session_id, session_scores, turn_scores
from results.schemas import ANSWERS, METRICS, RECALLS, VERDICTS
from results.tables import from_rows
from tasks.load import loaded
from tasks.stage import Made, Stage, Work


def make(work: Work) -> Made:
    """Score the questions of a batch."""
    questions = {question.id: question for question in loaded(work)[1]}
    recalls = work.read("recall", "recalls", RECALLS).to_pylist()
    answers = {row["question"]: row for row in work.read("answer", "answers", ANSWERS).to_pylist()}
    verdicts = {row["question"]: row for row in work.read("judge", "verdicts", VERDICTS).to_pylist()}
    rows = [
        _row(questions[recall["question"]], recall, answers[recall["question"]], verdicts[recall["question"]])
        for recall in recalls
    ]
    counts = {"answered": 0, "judged": 0, "failed": 0}
    for row in rows:
        counts["answered" if row["status"] == "answered" else "failed"] += 1
        counts["judged"] += row["judge"] is not None
    return Made({"metrics": from_rows(rows, METRICS)}, counts)


def _row(
    question: Question, recall: dict[str, Any], answer: dict[str, Any], verdict: dict[str, Any]
) -> dict[str, Any]:
    row: dict[str, Any] = {
        "question": question.id,
        "history": question.history,
        "type": question.type,
        "condition": recall["condition"],
        "abstention": question.abstention,
        "status": "answered" if answer["status"] == "ok" else "failed",
        "reason": answer["reason"],
        "judge_status": verdict["status"],
        "judge": _judged(verdict),
        "context_tokens": recall["context_tokens"],
    }
    if answer["status"] == "ok" and question.can_be_judged:
        exact = token_metrics.published(answer["answer"], question.reference)
        row |= {"precision": exact.precision, "recall": exact.recall, "f1": exact.f1}
        row["f1_improved"] = token_metrics.improved(answer["answer"], question.reference).f1
    if recall["status"] == "ok":
        row |= _retrieval(question, recall["turns"])
        row["context_evidence"] = _evidence_in_context(question, recall["shown"])
    return row


def _judged(verdict: dict[str, Any]) -> float | None:
    """The share of key facts where the judge gives one, else 1 or 0; none without a verdict."""
    if verdict["reward"] is not None:
        return float(verdict["reward"])
    return None if verdict["correct"] is None else float(verdict["correct"])


def _retrieval(question: Question, ranked: list[str]) -> dict[str, float]:
    """Ranking figures; none for abstention, whose evidence is not an answer to be found."""
    if question.abstention:
        return {}
    turns = turn_scores(ranked, question.evidence)
    positions = [session_id(question.history, position) for position in question.evidence_sessions]
    sessions = session_scores(ranked, positions)
    return {**(turns.columns("turn") if turns else {}), **(sessions.columns("session") if sessions else {})}


def _evidence_in_context(question: Question, shown: list[str]) -> float | None:
    """The share of the evidence turns that the context stands on; none for abstention, or where none is named."""
    if question.abstention or not question.evidence:
        return None
    return len(set(question.evidence) & set(shown)) / len(set(question.evidence))


STAGE = Stage("score", 2, make)
