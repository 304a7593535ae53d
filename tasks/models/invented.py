"""Replies and vectors for a study that is walked without asking any model: of plausible size, and of no worth."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
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
    "ace_reflect": Span(20, 1_500),  # of a chunk of 8,000 tokens
    "ace_refine": Span(20, 1_500),
    "ace_curate": Span(10, 1_500),
    "rb_judge": Span(4, 60),
    "rb_extract": Span(10, 600),
    "fact_filter": Span(4, 40),
    "graft_diagnose": Span(10, 60),
    "graft_probe": Span(40, 200),
    "graft_plan": Span(40, 800),
    "graft_verify": Span(10, 200),
}
_OTHER = Span(1, 500)
_LESSONS = 8  # of a session, from which the playbook grows that later sessions are shown
_NOTHING = '{"active": [], "replaced": [], "ids": []}'  # so that source lines stand in for facts
_ALWAYS = {
    "rd_curate": _NOTHING,
    "rd_select": _NOTHING,
    "rb_judge": '{"why": "", "success": true}',
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
    """A reply that the project's own readers can read. Empty for a task that is unknown here."""
    make = _MADE.get(request.task)
    return make(request, call_id) if make else _ALWAYS.get(request.task, "")


def _offline(request: ChatRequest, call_id: str) -> str:
    """The offline extractor's: extractions and entities."""
    return OfflineChat("noun-phrases").complete(request.task, request.inputs)


def _answer(request: ChatRequest, call_id: str) -> str:
    """Answers differ from call to call, so that each needs a verdict of its own."""
    return f"answer {call_id[:12]}"


def _reflection(request: ChatRequest, call_id: str) -> str:
    """Never finished, and another each time, so that as many rounds are foreseen as there can be."""
    lessons = [{"lesson": text, "lines": id} for id, text in _some(request.inputs["lines"], _LESSONS)]
    tags = [{"id": call_id[:12], "tag": "neutral"}]
    return json.dumps({"tags": tags, "lessons": lessons, "finished": False})


def _additions(request: ChatRequest, call_id: str) -> str:
    lessons = _some(request.inputs["lessons"], _LESSONS)
    return json.dumps({"operations": [{"type": "ADD", "content": text} for _, text in lessons]})


def _items(request: ChatRequest, call_id: str) -> str:
    found = _some(request.inputs["lines"], int(request.inputs["most"]))
    return json.dumps({"items": [{"content": text, "lines": id} for id, text in found]})


def _some(shown: str, most: int) -> list[tuple[str, str]]:
    """The first of what a request shows, as ids and texts, in the place of what a model would make of it."""
    return [(id, text) for id, text in json.loads(shown)[:most]]


def _plan(request: ChatRequest, call_id: str) -> str:
    """A plan of one fact on the first episode that a probe has brought up: as much is asked as ever can be."""
    probes = json.loads(request.inputs["found"])
    shown = [id for _, items in probes for id, kind, _, _ in items if kind == "episode"]
    params = {"fact_text": f"fact {call_id[:12]}", "source_episode_ids": shown[:1]}
    return json.dumps({"edit_ops": [{"op_type": "CREATE_FACT", "params": params}]})


_OFFLINE = (
    *("extract", "query_entities", "concept_facts", "reflections", "graft_probe", "fact_filter"),
    *("gam_boundary", "gam_topic", "gam_links"),
)
_MADE: Mapping[str, Callable[[ChatRequest, str], str]] = {
    **dict.fromkeys(_OFFLINE, _offline),
    "answer": _answer,
    "ace_reflect": _reflection,
    "ace_refine": _reflection,
    "ace_curate": _additions,
    "rb_extract": _items,
    "graft_plan": _plan,
}


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
