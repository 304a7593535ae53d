"""Replies and vectors for a study that is walked without asking any model: of plausible size, and of no worth."""

from __future__ import annotations

import json
import re
from functools import lru_cache
from hashlib import blake2b

import numpy as np

from memory.models import ChatRequest, Vectors
from tasks.models.foreseen import Span
from tasks.models.offline.chat import OfflineChat

_WORD = re.compile(r"\w+")
_ABOVE_FLOOR = 0.01
_MOST_ALIKE = 0.99

# Tokens of replies. A fact alone, a verdict with one sentence, some entities of a question; any other task.
ANSWER = Span(1, 60)
_SIZES = {
    "answer": ANSWER,
    "judge": Span(4, 60),
    "key_facts": Span(4, 60),
    "query_entities": Span(4, 120),
    "concept_facts": Span(100, 2_000),  # of some fifteen turns
    "reflections": Span(10, 600),
    "five_ws": Span(25, 250),
    "five_ws_query": Span(25, 100),
    "gam_boundary": Span(5, 60),
    "gam_topic": Span(30, 200),
    "gam_links": Span(5, 100),
    "rd_curate": Span(20, 2_000),  # of a chunk of 8,000 tokens
    "rd_select": Span(4, 150),
    "fact_filter": Span(4, 40),
    "graft_diagnose": Span(10, 60),
    "graft_probe": Span(40, 200),
    "graft_plan": Span(40, 800),
    "graft_verify": Span(10, 200),
}
_OTHER = Span(1, 500)
_ALWAYS = {
    "judge": '{"correct": true, "why": ""}',
    "key_facts": '{"reward": 1.0, "why": ""}',
    "graft_diagnose": '{"completeness": 0.0, "reason": ""}',
    "graft_verify": '{"passed_indices": [1], "rejections": []}',
}
# The offline extractor's replies have on the average as many tokens as the turn and 90 more: 352 on LongMemEval's
# turns of 261, 126 on LoCoMo's of 32, 106 on the sample's of 17.
_EXTRACTION = 90
_SPREAD_OF_EXTRACTIONS = 3


def reply_text(request: ChatRequest, call_id: str) -> str:
    """A reply that the project's own readers can read: extractions and entities are the offline extractor's.

    Answers differ from call to call, so that each needs a verdict of its own. Empty for a task that is unknown here.
    """
    match request.task:
        case "extract" | "query_entities" | "concept_facts" | "reflections" | "fact_filter" | "graft_probe":
            return OfflineChat("noun-phrases").complete(request.task, request.inputs)
        case "gam_boundary" | "gam_topic" | "gam_links":
            return OfflineChat("noun-phrases").complete(request.task, request.inputs)
        case "answer":
            return f"answer {call_id[:12]}"
        case (
            "rd_curate" | "rd_select"
        ):  # nothing is found and chosen, so that source lines stand in for facts
            return '{"active": [], "replaced": [], "ids": []}'
        case "graft_plan":
            return _plan(request.inputs["found"], call_id)
    return _ALWAYS.get(request.task, "")


def _plan(found: str, call_id: str) -> str:
    """A plan of one fact on the first episode that a probe has brought up: as much is asked as ever can be."""
    shown = [id for _, items in json.loads(found) for id, kind, _, _ in items if kind == "episode"]
    params = {"fact_text": f"fact {call_id[:12]}", "source_episode_ids": shown[:1]}
    return json.dumps({"edit_ops": [{"op_type": "CREATE_FACT", "params": params}]})


def reply_tokens(request: ChatRequest, said: float, cap: int | None) -> Span:
    """The least and the most tokens that a reply should have, as a mean over many.

    Args:
        request: What is asked.
        said: Tokens of its user message.
        cap: Most tokens of the reply, if there is such a cap.
    """
    size = _SIZES.get(request.task, _OTHER)
    if request.task == "extract":
        middle = _EXTRACTION + said
        size = Span(middle, middle).wider(_SPREAD_OF_EXTRACTIONS)
    return size if cap is None else Span(min(size.low, cap), min(size.high, cap))


def vector(text: str, floor: float, dimensions: int) -> Vectors:
    """A unit vector `(dimensions,)` that follows from the text alone; cosines grow with the words that texts share.

    Any two are about as alike as the study's retrieval floor asks for, so that recall finds something and contexts
    come out large rather than empty.
    """
    common = min(max(floor, 0.0) + _ABOVE_FLOOR, _MOST_ALIKE)
    words = np.zeros(dimensions, np.float32)
    for word in set(_WORD.findall(text.lower())) or {text}:
        place, sign = _place(word, dimensions)
        words[place] += sign
    words *= np.sqrt(1 - common) / max(float(np.linalg.norm(words)), 1e-6)
    return words + np.float32(np.sqrt(common / dimensions))


@lru_cache(maxsize=200_000)
def _place(word: str, dimensions: int) -> tuple[int, float]:
    digest = int.from_bytes(blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "big")
    return digest % dimensions, 1.0 if digest >> 63 else -1.0
