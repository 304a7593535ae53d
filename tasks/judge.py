"""Stage `judge`: a judge, a model or a rule, compares each answer with the reference. No verdict is never a zero."""

from __future__ import annotations

from typing import Any

from memory.conversation import Question
from memory.errors import CallFailed
from memory.models import ChatRequest, Reply
from results.schemas import ANSWERS, VERDICTS
from results.tables import from_rows
from tasks.context import open_chat
from tasks.load import loaded
from tasks.prompts import key_facts
from tasks.prompts.hashing import request_hash
from tasks.prompts.judge import Judge, PromptJudge, RuleJudge, Verdict, read_reward, read_verdict, request
from tasks.rules import RULES, VERSION
from tasks.stage import Made, Stage, Work, count


def prompt_hash(judge: Judge, types: tuple[str, ...]) -> str:
    """Hash of the judge's prompts for these question types; of a rule, its version."""
    match judge:
        case "substring" | "choice" | "strings":
            return VERSION
        case _:
            shown = {
                request_hash(request(judge, "question", "reference", "answer", question_type=t, abstention=a))
                for t in types
                for a in (False, True)
            }
            return "-".join(sorted(shown))


def make(work: Work) -> Made:
    """Judge a batch of answers; a question without an answer, or without a reference for it, has no verdict."""
    judge: Judge = work.params["judge"]
    questions = {question.id: question for question in loaded(work)[1]}
    answers = work.read("answer", "answers", ANSWERS).to_pylist()
    answered = [row for row in answers if row["status"] == "ok" and questions[row["question"]].can_be_judged]
    match judge:
        case "substring" | "choice" | "strings":
            by_question = _ruled(judge, answered, questions)
        case _:
            by_question = _asked(work, judge, answered, questions)
    rows = []
    for row in answers:
        identity = {"question": row["question"], "condition": row["condition"], "judge": judge}
        rows.append({**identity, **_row(row, by_question.get(row["question"]))})
    return Made({"verdicts": from_rows(rows, VERDICTS)}, count(rows))


_Verdicts = dict[str, Reply[Verdict] | Verdict | CallFailed]


def _ruled(judge: RuleJudge, answered: list[dict[str, Any]], questions: dict[str, Question]) -> _Verdicts:
    return {row["question"]: RULES[judge](questions[row["question"]], row["answer"]) for row in answered}


def _asked(
    work: Work, judge: PromptJudge, answered: list[dict[str, Any]], questions: dict[str, Question]
) -> _Verdicts:
    requests = [_request(judge, questions[row["question"]], row["answer"]) for row in answered]
    model = open_chat(work, "judge", work.params.get("repeat", 0))
    by_question: _Verdicts = {}
    for read, kinds in ((read_verdict, {"judge"}), (read_reward, {key_facts.TASK})):
        asked = [
            (row["question"], one) for row, one in zip(answered, requests, strict=True) if one.task in kinds
        ]
        replies = model.ask_many([one for _, one in asked], read)
        by_question |= {question: reply for (question, _), reply in zip(asked, replies, strict=True)}
    return by_question


def _request(judge: PromptJudge, question: Question, answer: str) -> ChatRequest:
    return request(
        judge,
        question.text,
        question.reference,
        answer,
        question_type=question.type,
        abstention=question.abstention,
    )


def _row(answer: dict[str, Any], reply: Reply[Verdict] | Verdict | CallFailed | None) -> dict[str, Any]:
    if reply is None and answer["status"] == "ok":
        return {"status": "no_reference", "reason": "the question has no reference answer"}
    if reply is None:
        return {"status": "unanswered", "reason": answer["reason"], "final": answer["final"]}
    if isinstance(reply, CallFailed):
        status = "unparsed" if reply.final else "failed"
        return {"status": status, "reason": reply.reason, "final": reply.final}
    if isinstance(reply, Verdict):
        return {"status": "judged", "correct": reply.correct, "why": reply.why}
    return {
        "status": "judged",
        "correct": reply.value.correct,
        "reward": reply.value.reward,
        "why": reply.value.why,
        "call": reply.call_id,
        "model": reply.model,
        "attempt": reply.attempt,
    }


STAGE = Stage("judge", 2, make)
