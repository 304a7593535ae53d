"""Stage `answer`: the answerer reads the question and the recalled context."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from memory.errors import CallFailed
from memory.models import Reply
from results.schemas import ANSWERS, RECALLS
from results.tables import from_rows
from tasks.context import open_chat
from tasks.load import loaded
from tasks.prompts.answer import Profile, read, request
from tasks.prompts.hashing import request_hash
from tasks.stage import Made, Stage, Work, count


def prompt_hash(profile: Profile) -> str:
    """Hash of the answer prompt's text and of its ways of showing what it is given."""
    shown = [
        request(
            "question",
            context,
            profile=profile,
            question_date="date",
            preamble=preamble,
            question_type=t,
            options=options,
        )
        for context, preamble, t, options in (
            ("context", None, "", ()),
            ("", None, "", ()),
            ("context", "p", "memoryarena-shopping", ()),
            ("context", None, "", ("(a) option",)),
        )
    ]
    return "-".join(request_hash(one) for one in shown)


def shown_date(date: datetime | None) -> str | None:
    """A question's date as the answerer is shown it."""
    return date.strftime("%Y-%m-%d (%a) %H:%M") if date else None


def make(work: Work) -> Made:
    """Answer the questions of a batch of recalls; a question whose recall failed is a failed row."""
    questions = {question.id: question for question in loaded(work)[1]}
    recalls = work.read("recall", "recalls", RECALLS).select(
        ["question", "condition", "status", "reason", "final", "context"]
    )
    rows = recalls.to_pylist()
    asked = [row for row in rows if row["status"] == "ok"]
    requests = [
        request(
            questions[row["question"]].text,
            row["context"],
            profile=work.params["profile"],
            question_date=shown_date(questions[row["question"]].date),
            preamble=questions[row["question"]].preamble,
            question_type=questions[row["question"]].type,
            options=questions[row["question"]].options,
        )
        for row in asked
    ]
    replies = open_chat(work, "answerer", work.params.get("repeat", 0)).ask_many(requests, read)
    by_question = {row["question"]: reply for row, reply in zip(asked, replies, strict=True)}
    answers = [_row(row, by_question.get(row["question"])) for row in rows]
    return Made({"answers": from_rows(answers, ANSWERS)}, count(answers))


def _row(recall: dict[str, Any], reply: Reply[str] | CallFailed | None) -> dict[str, Any]:
    identity = {"question": recall["question"], "condition": recall["condition"]}
    if reply is None:
        return {
            **identity,
            "status": "failed",
            "reason": f"recall: {recall['reason']}",
            "final": recall["final"],
        }
    if isinstance(reply, CallFailed):
        return {**identity, "status": "failed", "reason": reply.reason, "final": reply.final}
    return {
        **identity,
        "status": "ok",
        "answer": reply.value,
        "call": reply.call_id,
        "model": reply.model,
        "attempt": reply.attempt,
    }


STAGE = Stage("answer", 2, make)
