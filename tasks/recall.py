"""Stage `recall`: what a memory brings up for each question, and which turns that stands on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from memory import tokens
from memory.conversation import Question
from memory.errors import CallFailed
from memory.protocol import MemorySystem
from memory.systems import find
from results.schemas import RECALLS
from results.tables import from_rows
from tasks.context import memory_models
from tasks.load import loaded
from tasks.merge import merged, remembered
from tasks.stage import Made, Stage, Work, count, milliseconds


def make(work: Work) -> Made:
    """Recall for all questions of a batch of histories."""
    _, questions, _ = loaded(work)
    rows = []
    for history, open_one in _memories(work):
        asked = [question for question in questions if question.history == history]
        recalled = _history_rows(open_one, asked)
        name = work.params["condition"]["name"]
        rows += [{"question": q.id, "condition": name, **row} for q, row in zip(asked, recalled, strict=True)]
    return Made({"recalls": from_rows(rows, RECALLS)}, count(rows))


def _history_rows(open_one: Callable[[], MemorySystem], asked: Sequence[Question]) -> list[dict[str, Any]]:
    """What one history's memory brings up for its questions; without a memory every recall has failed."""
    try:
        memory = open_one()
    except CallFailed as failed:
        row = {"status": "failed", "reason": f"memory: {failed.reason}", "final": failed.final}
        return [row for _ in asked]
    size = memory.size()
    held = {"memory_items": size.items, "memory_edges": size.edges, "memory_bytes": size.bytes}
    return [{**held, **recall_row(memory, question)} for question in asked]


def _memories(work: Work) -> Iterator[tuple[str, Callable[[], MemorySystem]]]:
    """The batch's memories by history, each opened when it is called for: as stage `merge` built it, else anew."""
    histories = work.params["histories"]
    if "merge" not in work.inputs:
        yield from ((history, partial(remembered, work, history)) for history in histories)
        return
    condition = work.params["condition"]
    tables = {name: work.read("merge", name) for name in work.inputs["merge"].files}
    system = find(condition["system"])
    settings = system.Settings(**condition["settings"])
    models = memory_models(work)

    def built(history: str) -> MemorySystem:
        return system.from_tables(merged(work, history, tables), settings, models)

    yield from ((history, partial(built, history)) for history in histories)


def recall_row(memory: MemorySystem, question: Question) -> dict[str, Any]:
    """The columns of a recall that follow from memory and question."""
    # Only the oracle is shown the evidence, and nobody the reference: a query is another type than a question.
    query = question.oracle_query() if memory.sees_evidence else question.query()
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
        "flags": list(recall.flags),
    }


STAGE = Stage("recall", 2, make)
