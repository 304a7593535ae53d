"""Stage `recall`: what a memory brings up for each question, and which turns that stands on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

from memory import tokens
from memory.conversation import Question
from memory.errors import CallFailed
from memory.protocol import MemorySystem
from memory.systems import find
from results.schemas import RECALLS
from results.tables import from_rows
from tasks.context import memory_models, open_memory
from tasks.extract import extracted
from tasks.load import loaded
from tasks.merge import in_order, merged
from tasks.stage import Made, Stage, Work, count, milliseconds


def make(work: Work) -> Made:
    """Recall for all questions of a batch of histories."""
    _, questions, _ = loaded(work)
    rows = []
    for history, memory in _memories(work):
        size = memory.size()
        held = {"memory_items": size.items, "memory_edges": size.edges, "memory_bytes": size.bytes}
        for question in questions:
            if question.history == history:
                identity = {"question": question.id, "condition": work.params["condition"]["name"]}
                rows.append({**identity, **held, **recall_row(memory, question)})
    return Made({"recalls": from_rows(rows, RECALLS)}, count(rows))


def _memories(work: Work) -> Iterator[tuple[str, MemorySystem]]:
    """The batch's memories one at a time, by history: read where stage `merge` built them, else remembered."""
    condition = work.params["condition"]
    if "merge" in work.inputs:
        tables = {name: work.read("merge", name) for name in work.inputs["merge"].files}
        system = find(condition["system"])
        settings = system.Settings(**condition["settings"])
        models = memory_models(work)
        for history in work.params["histories"]:
            yield history, system.from_tables(merged(work, history, tables), settings, models)
        return
    histories, _, _ = loaded(work)
    extractions = extracted(work)
    for history in work.params["histories"]:
        memory = open_memory(condition, work)
        for session in in_order(histories[history], condition["settings"]):
            memory.remember(session, extractions)
        yield history, memory


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
