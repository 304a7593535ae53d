"""Which facts serve a question, without a language model: those whose subject or object it has a word of."""

from __future__ import annotations

import json
from collections.abc import Mapping

from memory.prompts.fact_filter import FilterReply, ids_of
from tasks.models.offline.tokens import content


def kept(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `fact_filter`, as `FilterReply`."""
    asked = set(content(inputs["question"]))
    facts: list[list[str]] = json.loads(inputs["facts"])
    ids = [id for id, (subject, _, object_) in zip(ids_of(facts), facts, strict=True)
           if asked.intersection(content(f"{subject} {object_}"))]  # fmt: skip
    return FilterReply(ids=ids).model_dump_json()
