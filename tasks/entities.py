"""Stage `entities`: what each question asks about, read once for all graphs that are asked, and its vectors bought."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from memory.errors import CallFailed
from memory.merge import descriptor
from memory.models import Reply
from memory.prompts.query_entities import request
from memory.validation import QueryEntity, read_entities
from results.tables import from_rows
from tasks.context import open_chat, open_embedder
from tasks.load import loaded
from tasks.stage import Made, Stage, Work, count

_ENTITY: pa.DataType = pa.struct(
    [pa.field("label", pa.string()), pa.field("title", pa.string()), pa.field("content", pa.string())]
)
_LIST: pa.DataType = pa.list_(pa.field("element", _ENTITY))
_COLUMNS: list[tuple[str, pa.DataType]] = [
    ("question", pa.string()),
    ("status", pa.string()),  # ok | failed
    ("reason", pa.string()),
    ("final", pa.bool_()),
    ("entities", _LIST),
]
ENTITIES = pa.schema(_COLUMNS)


def make(work: Work) -> Made:
    """Read all questions for their entities, and embed both, so that a frontier finds every vector in the store."""
    _, questions, _ = loaded(work)
    requests = [request(question.text) for question in questions]
    replies = open_chat(work, "query").ask_many(requests, read_entities)
    rows = [
        {"question": question.id, **_row(reply)} for question, reply in zip(questions, replies, strict=True)
    ]
    texts = {question.text for question in questions}
    for reply in replies:
        if not isinstance(reply, CallFailed):
            texts |= {descriptor(entity.label, entity.title, entity.content) for entity in reply.value}
    open_embedder(work).embed(sorted(texts))
    return Made({"entities": from_rows(rows, ENTITIES)}, count(rows))


def _row(reply: Reply[tuple[QueryEntity, ...]] | CallFailed) -> dict[str, Any]:
    if isinstance(reply, CallFailed):
        return {"status": "failed", "reason": reply.reason, "final": reply.final, "entities": []}
    named = [{"label": e.label, "title": e.title, "content": e.content} for e in reply.value]
    return {"status": "ok", "entities": named}


def entities_of(table: pa.Table) -> dict[str, tuple[QueryEntity, ...]]:
    """Entities by question; a question that could not be read is absent."""
    return {
        row["question"]: tuple(QueryEntity(**entity) for entity in row["entities"])
        for row in table.to_pylist()
        if row["status"] == "ok"
    }


STAGE = Stage("entities", 1, make)
