"""Stage `recall`: what a memory brings up for each question, which turns that stands on, and what it holds of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import groupby
from typing import Any

from memory import tokens
from memory.conversation import History, Question, Turn
from memory.errors import CallFailed
from memory.protocol import Labelled, MemorySystem, Traceable
from memory.systems import find
from results.schemas import HELD, RECALLS
from results.tables import from_rows
from tasks.load import loaded
from tasks.memories import memories
from tasks.stage import Made, Stage, Work, count, milliseconds
from tasks.steps import Listener, only_heard


def make(work: Work) -> Made:
    """Recall for all questions of a batch of histories."""
    condition = work.params["condition"]
    rows: list[dict[str, Any]] = []
    held: list[dict[str, Any]] = []
    for history, asked, open_one in _sittings(work):
        try:
            memory = open_one()
        except CallFailed as failed:
            row = {"status": "failed", "reason": f"memory: {failed.reason}", "final": failed.final}
            rows += [{"question": question.id, **row} for question in asked]
            continue
        size = memory.size()
        sizes = {"memory_items": size.items, "memory_edges": size.edges, "memory_bytes": size.bytes}
        for question in asked:
            found = only_heard(recall_row(memory, question), question, history)
            rows.append({"question": question.id, **sizes, **found})
        if isinstance(memory, Traceable):
            held += _held_rows(memory, asked, history.turns)
    name = condition["name"]
    tables = {"recalls": from_rows([{"condition": name, **row} for row in rows], RECALLS)}
    if issubclass(find(condition["system"]), Traceable):
        tables["held"] = from_rows([{"condition": name, **row} for row in held], HELD)
    return Made(tables, count(rows))


def _sittings(work: Work) -> Iterator[tuple[History, list[Question], Callable[[], MemorySystem]]]:
    """Histories with the questions that are asked at once, and what opens the memory for them: as a rule the whole one.

    Where a history's questions are asked in between of its sessions, there is a sitting for each such time, in order.
    """
    histories, questions, _ = loaded(work)
    for name, open_one in memories(work):
        history = histories[name]
        asked = [question for question in questions if question.history == name]
        if all(question.after is None for question in asked):
            yield history, asked, open_one
            continue
        listener = Listener(work, history)
        by_time = sorted(asked, key=lambda question: _heard_before(question, history))
        for sessions, together in groupby(by_time, key=lambda question: _heard_before(question, history)):
            yield history, list(together), partial(listener.after, sessions)


def _heard_before(question: Question, history: History) -> int:
    return len(history.sessions) if question.after is None else question.after


def _held_rows(memory: Traceable, asked: Sequence[Question], turns: Sequence[Turn]) -> list[dict[str, Any]]:
    """What a memory holds of each turn that is evidence of one of its questions."""
    wanted = {turn for question in asked for turn in question.evidence}
    return [{"turn": turn.id, "texts": memory.standing_on(turn)} for turn in turns if turn.id in wanted]


def recall_row(memory: MemorySystem, question: Question) -> dict[str, Any]:
    """The columns of a recall that follow from memory and question."""
    # Only the oracle is shown the evidence, and nobody the reference: a query is another type than a question.
    query = question.oracle_query() if memory.sees_evidence else question.query()
    if isinstance(memory, Labelled) and memory.reads_labels:
        query = replace(query, label=question.type)
    start = time.perf_counter()
    try:
        recall = memory.recall(query)
    except CallFailed as failed:
        return {"status": "failed", "reason": failed.reason, "final": failed.final}
    return {
        "status": "ok",
        "latency_ms": milliseconds(start),
        "context": recall.context,
        "context_tokens": tokens.count(recall.context),
        "items": recall.items,
        "edges": recall.edges,
        "turns": [source.turn for source in recall.provenance],
        "scores": [source.score for source in recall.provenance],
        "shown": list(recall.stands_on),
        "flags": list(recall.flags),
    }


STAGE = Stage("recall", 5, make)
