"""Stage `recall` on one store for all histories: what it brings up for each question."""

from __future__ import annotations

import threading
from functools import lru_cache
from typing import Any

from memory.protocol import MemorySystem, Size
from memory.systems.flat import Flat
from memory.systems.graph import GraphMemory
from results.schemas import RECALLS
from results.tables import from_rows
from tasks.context import memory_models, open_memory
from tasks.extract import extracted
from tasks.ingest import graph_of, in_store_order
from tasks.load import loaded
from tasks.recall import recall_row
from tasks.stage import Made, Stage, Work, count

_one_at_a_time = threading.Lock()


def make(work: Work) -> Made:
    """Recall for a batch of questions.

    `access` says what an answer leaves behind: `none` and `per_question` leave the store as it was, `cumulative` lets
    later questions of the batch see the accesses of earlier ones.
    """
    asked = set(work.params["questions"])
    with _one_at_a_time:  # batches share the store, and a memory is used by one thread at a time
        shared = work.model_copy(update={"batch": "", "params": _without_questions(work)})
        memory, size = _store(shared.model_dump_json())
        if isinstance(memory, GraphMemory | Flat):
            memory.models = memory_models(work)  # those it was made with may belong to a run that has ended
        held = {"memory_items": size.items, "memory_edges": size.edges, "memory_bytes": size.bytes}
        rows = []
        for question in loaded(work)[1]:
            if question.id not in asked:
                continue
            identity = {"question": question.id, "condition": work.params["condition"]["name"]}
            rows.append({**identity, **held, **_row(memory, question, work.params["access"])})
    return Made({"recalls": from_rows(rows, RECALLS)}, count(rows))


def _without_questions(work: Work) -> dict[str, Any]:
    return {name: value for name, value in work.params.items() if name != "questions"}


@lru_cache(maxsize=2)
def _store(work_json: str) -> tuple[MemorySystem, Size]:
    """The memory and its size, which takes as long to find out as many questions."""
    work = Work.model_validate_json(work_json)
    if "graph" in work.inputs:
        graph = graph_of(work, "graph")
        return graph, graph.size()
    memory = open_memory(work.params["condition"], work)
    extractions = extracted(work)
    histories, _, _ = loaded(work)
    for session in in_store_order(histories, work.params["order"]):
        memory.remember(session, extractions)
    return memory, memory.size()


def _row(memory: MemorySystem, question: Any, access: str) -> dict[str, Any]:
    if access != "per_question" or not isinstance(memory, GraphMemory):
        return recall_row(memory, question)
    before = memory.graph.columns.copy()
    try:
        return recall_row(memory, question)
    finally:
        memory.graph.columns[:] = before


STAGE = Stage("recall", 2, make)
