"""The tables of a run: their columns, what these mean, and their version.

Schemas only ever gain nullable columns. The version stands in each file's metadata; readers fill what an older file
lacks with nulls (see `results.tables.read`). `VOLATILE` names columns that differ between equal runs, such as
latencies; they are left out of a table's content hash.
"""

from __future__ import annotations

import pyarrow as pa

VERSION = 1

_TEXTS = pa.list_(pa.string())
_TIME = pa.timestamp("us", tz="UTC")

_ATTRIBUTES = pa.string()  # JSON object: attribute values are of mixed types
_NODE = pa.struct(
    [
        ("key", pa.string()),
        ("label", pa.string()),
        ("title", pa.string()),
        ("content", pa.string()),
        ("attributes", _ATTRIBUTES),
    ]
)
_EDGE = pa.struct(
    [
        ("source", pa.string()),
        ("target", pa.string()),
        ("relationship", pa.string()),
        ("attributes", _ATTRIBUTES),
    ]
)
_DROPPED = pa.struct([("kind", pa.string()), ("detail", pa.string())])

TURNS = pa.schema(
    [
        ("history", pa.string()),
        ("session_position", pa.int32()),
        ("session", pa.string()),
        ("date", _TIME),
        ("turn", pa.string()),
        ("role", pa.string()),
        ("speaker", pa.string()),
        ("text", pa.string()),
        ("caption", pa.string()),
        ("content", pa.string()),  # hash of speaker, text and caption: what an extraction is bought for
    ]
)

QUESTIONS = pa.schema(
    [
        ("question", pa.string()),
        ("history", pa.string()),
        ("type", pa.string()),
        ("text", pa.string()),
        ("reference", pa.string()),
        ("reference_kind", pa.string()),
        ("date", _TIME),
        ("evidence", _TEXTS),
        ("evidence_sessions", pa.list_(pa.int32())),
        ("unresolved_evidence", _TEXTS),
        ("abstention", pa.bool_()),
    ]
)

EXTRACTIONS = pa.schema(
    [
        ("content", pa.string()),
        ("model", pa.string()),
        ("prompt", pa.string()),  # hash of the prompt's text
        ("status", pa.string()),  # ok | empty | failed
        ("reason", pa.string()),
        ("final", pa.bool_()),  # of a failure: false is tried again by the next run
        ("nodes", pa.list_(_NODE)),
        ("edges", pa.list_(_EDGE)),
        ("dropped", pa.list_(_DROPPED)),
        ("call", pa.string()),
        ("attempt", pa.int32()),
    ]
)

RECALLS = pa.schema(
    [
        ("question", pa.string()),
        ("condition", pa.string()),
        ("status", pa.string()),  # ok | failed
        ("reason", pa.string()),
        ("final", pa.bool_()),
        ("context", pa.string()),
        ("context_tokens", pa.int64()),  # o200k_base
        ("items", pa.int32()),
        ("edges", pa.int32()),
        ("turns", _TEXTS),  # distinct turns that the context stands on, best first
        ("scores", pa.list_(pa.float64())),
        ("flags", _TEXTS),
        ("memory_items", pa.int64()),
        ("memory_edges", pa.int64()),
        ("memory_bytes", pa.int64()),
        ("latency_ms", pa.float64()),
    ]
)

ANSWERS = pa.schema(
    [
        ("question", pa.string()),
        ("condition", pa.string()),
        ("status", pa.string()),  # ok | failed
        ("reason", pa.string()),
        ("final", pa.bool_()),
        ("answer", pa.string()),
        ("call", pa.string()),
        ("model", pa.string()),  # that the provider says has answered
        ("attempt", pa.int32()),
    ]
)

VERDICTS = pa.schema(
    [
        ("question", pa.string()),
        ("condition", pa.string()),
        ("judge", pa.string()),  # paper | per_type
        ("status", pa.string()),  # judged | unparsed | failed | unanswered
        ("reason", pa.string()),
        ("final", pa.bool_()),
        ("correct", pa.bool_()),  # null unless judged
        ("why", pa.string()),
        ("call", pa.string()),
        ("model", pa.string()),
        ("attempt", pa.int32()),
    ]
)

METRICS = pa.schema(
    [
        ("question", pa.string()),
        ("history", pa.string()),
        ("type", pa.string()),
        ("condition", pa.string()),
        ("abstention", pa.bool_()),
        ("status", pa.string()),  # answered | failed
        ("reason", pa.string()),
        ("precision", pa.float64()),
        ("recall", pa.float64()),
        ("f1", pa.float64()),
        ("f1_improved", pa.float64()),
        ("judge", pa.float64()),  # 1, 0, or null where there is no verdict
        ("judge_status", pa.string()),
        ("context_tokens", pa.int64()),
        ("turn_recall_1", pa.float64()),
        ("turn_recall_5", pa.float64()),
        ("turn_recall_10", pa.float64()),
        ("turn_mrr", pa.float64()),
        ("turn_ndcg_10", pa.float64()),
        ("session_recall_1", pa.float64()),
        ("session_recall_5", pa.float64()),
        ("session_recall_10", pa.float64()),
        ("session_mrr", pa.float64()),
        ("session_ndcg_10", pa.float64()),
    ]
)

CALLS = pa.schema(
    [
        ("at", _TIME),
        ("run", pa.string()),
        ("stage", pa.string()),
        ("call", pa.string()),
        ("provider", pa.string()),
        ("model", pa.string()),
        ("model_returned", pa.string()),
        ("task", pa.string()),
        ("attempt", pa.int32()),
        ("repeat", pa.int32()),
        ("outcome", pa.string()),  # paid | replayed | unusable | failed
        ("reason", pa.string()),
        ("prompt_tokens", pa.int64()),
        ("completion_tokens", pa.int64()),
        ("cached_tokens", pa.int64()),
        ("usd", pa.float64()),
        ("latency_ms", pa.float64()),
        ("retries", pa.int32()),
        ("flags", pa.string()),
    ]
)

TABLES: dict[str, pa.Schema] = {
    "turns": TURNS,
    "questions": QUESTIONS,
    "extractions": EXTRACTIONS,
    "recalls": RECALLS,
    "answers": ANSWERS,
    "verdicts": VERDICTS,
    "metrics": METRICS,
    "calls": CALLS,
}

VOLATILE = frozenset({"latency_ms", "at", "call", "attempt", "memory_bytes"})


def vectors(dimensions: int) -> pa.Schema:
    """Schema of the `vectors` table for an embedder of that many dimensions."""
    return pa.schema(
        [("text", pa.string()), ("model", pa.string()), ("vector", pa.list_(pa.float32(), dimensions))]
    )
