"""The hash by which a stage knows that a prompt has changed."""

from __future__ import annotations

import hashlib
import json

from memory.models import ChatRequest


def request_hash(shown: ChatRequest) -> str:
    """Hash of all that a request sends: one word of a prompt changes it, and so does its schema or its cap."""
    schema = shown.reply.model_json_schema() if shown.reply else None
    text = json.dumps([shown.system, shown.user, schema, shown.max_tokens], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
