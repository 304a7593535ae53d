"""The tables of a run: their columns, what these mean, and their version.

Schemas only ever gain nullable columns. The version stands in each file's metadata; readers fill what an older file
lacks with nulls (see `results.tables.read`). `VOLATILE` names columns that differ between equal runs, such as
latencies; they are left out of a table's content hash.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

VERSION = 1


def _schema(*fields: pa.Field[Any]) -> pa.Schema:
    return pa.schema(fields)


_TEXTS: pa.DataType = pa.list_(pa.string())
_TIME: pa.DataType = pa.timestamp("us", tz="UTC")

_ATTRIBUTES = pa.string()  # JSON object: attribute values are of mixed types
_NODE = pa.struct(
    [
        pa.field("key", pa.string()),
        pa.field("label", pa.string()),
        pa.field("title", pa.string()),
        pa.field("content", pa.string()),
        pa.field("attributes", _ATTRIBUTES),
    ]
)
_EDGE = pa.struct(
    [
        pa.field("source", pa.string()),
        pa.field("target", pa.string()),
        pa.field("relationship", pa.string()),
        pa.field("attributes", _ATTRIBUTES),
    ]
)
_OBSERVATION = pa.struct([pa.field("text", pa.string()), pa.field("turns", _TEXTS)])
_DROPPED = pa.struct([("kind", pa.string()), ("detail", pa.string())])

TURNS = _schema(
    pa.field("history", pa.string()),
    pa.field("session_position", pa.int32()),
    pa.field("session", pa.string()),
    pa.field("date", _TIME),
    pa.field("turn", pa.string()),
    pa.field("role", pa.string()),
    pa.field("speaker", pa.string()),
    pa.field("text", pa.string()),
    pa.field("caption", pa.string()),
    pa.field("content", pa.string()),  # hash of speaker, text and caption: what an extraction is bought for
    pa.field("observations", pa.list_(_OBSERVATION)),  # what the benchmark states that ends with this turn
)

QUESTIONS = _schema(
    pa.field("question", pa.string()),
    pa.field("history", pa.string()),
    pa.field("type", pa.string()),
    pa.field("text", pa.string()),
    pa.field("reference", pa.string()),
    pa.field("reference_kind", pa.string()),
    pa.field("date", _TIME),
    pa.field("evidence", _TEXTS),
    pa.field("evidence_sessions", pa.list_(pa.int32())),
    pa.field("unresolved_evidence", _TEXTS),
    pa.field("abstention", pa.bool_()),
    pa.field("after", pa.int32()),  # sessions heard when it is asked; null is all
    pa.field("preamble", pa.string()),  # told to the answerer before the context
    pa.field("options", _TEXTS),  # of a multiple-choice question; else null
    pa.field("accepted", _TEXTS),  # references of which any counts; null where there is one
    pa.field("contains", _TEXTS),  # strings that a right answer has all of; null where the benchmark has none
)

EXTRACTIONS = _schema(
    pa.field("content", pa.string()),
    pa.field("model", pa.string()),
    pa.field("prompt", pa.string()),  # hash of the prompt's text
    pa.field("status", pa.string()),  # ok | empty | failed
    pa.field("reason", pa.string()),
    pa.field("final", pa.bool_()),  # of a failure: false is tried again by the next run
    pa.field("nodes", pa.list_(_NODE)),
    pa.field("edges", pa.list_(_EDGE)),
    pa.field("dropped", pa.list_(_DROPPED)),
    pa.field("call", pa.string()),
    pa.field("attempt", pa.int32()),
)

RECALLS = _schema(
    pa.field("question", pa.string()),
    pa.field("condition", pa.string()),
    pa.field("status", pa.string()),  # ok | failed
    pa.field("reason", pa.string()),
    pa.field("final", pa.bool_()),
    pa.field("context", pa.string()),
    pa.field("context_tokens", pa.int64()),  # o200k_base
    pa.field("items", pa.int32()),
    pa.field("edges", pa.int32()),
    pa.field("turns", _TEXTS),  # distinct turns that the context stands on, best first
    pa.field("scores", pa.list_(pa.float64())),
    pa.field("shown", _TEXTS),  # turns that the context itself stands on; null in runs before it was kept
    pa.field("flags", _TEXTS),
    pa.field("memory_items", pa.int64()),
    pa.field("memory_edges", pa.int64()),
    pa.field("memory_bytes", pa.int64()),
    pa.field("latency_ms", pa.float64()),
)

HELD = _schema(
    pa.field("condition", pa.string()),
    pa.field("turn", pa.string()),
    pa.field("texts", _TEXTS),  # that stand on the turn, each as a context would show it
)

ANSWERS = _schema(
    pa.field("question", pa.string()),
    pa.field("condition", pa.string()),
    pa.field("status", pa.string()),  # ok | failed
    pa.field("reason", pa.string()),
    pa.field("final", pa.bool_()),
    pa.field("answer", pa.string()),
    pa.field("call", pa.string()),
    pa.field("model", pa.string()),  # that the provider says has answered
    pa.field("attempt", pa.int32()),
)

VERDICTS = _schema(
    pa.field("question", pa.string()),
    pa.field("condition", pa.string()),
    pa.field("judge", pa.string()),  # paper | per_type | key_facts | substring | choice | strings
    pa.field("status", pa.string()),  # judged | unparsed | failed | unanswered | no_reference
    pa.field("reason", pa.string()),
    pa.field("final", pa.bool_()),
    pa.field("correct", pa.bool_()),  # null unless judged
    pa.field("reward", pa.float64()),  # share of key facts, from the judge that gives one
    pa.field("why", pa.string()),
    pa.field("call", pa.string()),
    pa.field("model", pa.string()),
    pa.field("attempt", pa.int32()),
)

METRICS = _schema(
    pa.field("question", pa.string()),
    pa.field("history", pa.string()),
    pa.field("type", pa.string()),
    pa.field("condition", pa.string()),
    pa.field("abstention", pa.bool_()),
    pa.field("status", pa.string()),  # answered | failed
    pa.field("reason", pa.string()),
    pa.field("precision", pa.float64()),
    pa.field("recall", pa.float64()),
    pa.field("f1", pa.float64()),
    pa.field("f1_improved", pa.float64()),
    pa.field("judge", pa.float64()),  # 1, 0, a share of key facts, or null where there is no verdict
    pa.field("judge_status", pa.string()),
    pa.field("context_tokens", pa.int64()),
    pa.field("context_evidence", pa.float64()),
    pa.field("turn_recall_1", pa.float64()),
    pa.field("turn_recall_5", pa.float64()),
    pa.field("turn_recall_10", pa.float64()),
    pa.field("turn_mrr", pa.float64()),
    pa.field("turn_ndcg_10", pa.float64()),
    pa.field("session_recall_1", pa.float64()),
    pa.field("session_recall_5", pa.float64()),
    pa.field("session_recall_10", pa.float64()),
    pa.field("session_mrr", pa.float64()),
    pa.field("session_ndcg_10", pa.float64()),
)

WATERFALL = _schema(
    pa.field("question", pa.string()),
    pa.field("type", pa.string()),
    pa.field("condition", pa.string()),
    pa.field("tracked", pa.string()),  # answer | evidence; null where nothing is
    pa.field("in_turn", pa.bool_()),
    pa.field("in_extraction", pa.bool_()),
    pa.field("in_memory", pa.bool_()),
    pa.field("in_context", pa.bool_()),
    pa.field("in_answer", pa.bool_()),
    pa.field("cause", pa.string()),  # one of results.waterfall.CAUSES or OUTSIDE
    pa.field("regained", pa.bool_()),
    pa.field("evidence", pa.int32()),  # how many turns
    pa.field("evidence_extracted", pa.int32()),
    pa.field("evidence_held", pa.int32()),
    pa.field("evidence_shown", pa.int32()),
    pa.field("texts_held", pa.int32()),
    pa.field("texts_shown", pa.int32()),
)

HISTORY_GROWTH = _schema(
    pa.field("condition", pa.string()),
    pa.field("history", pa.string()),
    pa.field("session_position", pa.int32()),
    pa.field("date", _TIME),
    pa.field("turns", pa.int64()),
    pa.field("items", pa.int64()),
    pa.field("edges", pa.int64()),
    pa.field("found_by_title", pa.int64()),  # null of a memory that merges nothing
    pa.field("found_by_similarity", pa.int64()),
)

HISTORY_SIZES = _schema(
    pa.field("condition", pa.string()),
    pa.field("history", pa.string()),
    pa.field("status", pa.string()),  # ok | failed
    pa.field("reason", pa.string()),
    pa.field("final", pa.bool_()),
    pa.field("sessions", pa.int64()),
    pa.field("turns", pa.int64()),
    pa.field("items", pa.int64()),
    pa.field("edges", pa.int64()),
    pa.field("found_by_title", pa.int64()),
    pa.field("found_by_similarity", pa.int64()),
    pa.field("near_duplicates", pa.int64()),
    pa.field("bytes", pa.int64()),
)

TABLES: dict[str, pa.Schema] = {
    "turns": TURNS,
    "questions": QUESTIONS,
    "history_growth": HISTORY_GROWTH,
    "history_sizes": HISTORY_SIZES,
    "extractions": EXTRACTIONS,
    "recalls": RECALLS,
    "held": HELD,
    "answers": ANSWERS,
    "verdicts": VERDICTS,
    "metrics": METRICS,
    "waterfall": WATERFALL,
}

VOLATILE = frozenset({"latency_ms", "build_ms", "at", "call", "attempt", "memory_bytes"})


def vectors(dimensions: int) -> pa.Schema:
    """Schema of the `vectors` table for an embedder of that many dimensions."""
    return pa.schema(
        [
            pa.field("text", pa.string()),  # hash of the text
            pa.field("model", pa.string()),
            pa.field("vector", pa.list_(pa.float32(), dimensions)),
        ]
    )
