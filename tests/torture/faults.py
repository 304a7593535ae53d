"""All that a provider may do wrong: in the transport, in a chat reply, and in a batch of vectors."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from memory.prompts.extraction import ExtractionReply
from memory.prompts.query_entities import EntitiesReply
from tasks.prompts.judge import VerdictReply
from tests.tasks.models.fakes import Answer, Request, good_vector, reset, status, truncated

Kind = Literal["extract", "query", "answer", "judge", "embed"]
Ending = Literal["refused", "lost", "unusable", "read"]

_CHATS: tuple[Kind, ...] = ("extract", "query", "answer", "judge")
_JSON: tuple[Kind, ...] = ("extract", "query", "judge")
_ALL: tuple[Kind, ...] = (*_CHATS, "embed")
_EMBED: tuple[Kind, ...] = ("embed",)
_JUDGE: tuple[Kind, ...] = ("judge",)

_SCHEMAS = {"extract": ExtractionReply, "query": EntitiesReply, "judge": VerdictReply}
_OF_ANOTHER = {
    "extract": '{"entities": [{"label": "Person", "title": "Aldwick"}]}',
    "query": '{"correct": true, "why": "they say the same"}',
    "judge": '{"nodes": {}, "edges": {}}',
}


@dataclass(frozen=True)
class Fault:
    """One way to go wrong.

    Attributes:
        kinds: The requests that it may befall.
        make: The answer, from the kind of the request, the request and what would have been answered.
        ending: What it is to the one who asked. `refused`: there is no reply, and none is billed; `lost`: there is none
            to be read, though there may be a bill; `unusable`: a reply of no use; `read`: as good as the good reply.
        weight: How often it is chosen, against the others.
    """

    name: str
    kinds: tuple[Kind, ...]
    make: Callable[[Kind, Request, Answer], Answer]
    ending: Ending
    weight: float = 1.0


def _says(name: str, text: str | None, ending: Ending = "unusable", weight: float = 1.0) -> Fault:
    """A JSON reply that says something else."""
    return Fault(name, _JSON, lambda kind, request, good: replace(good, text=text), ending, weight)


def _instead(
    name: str, answer: Answer, ending: Ending, kinds: tuple[Kind, ...], weight: float = 1.0
) -> Fault:
    """Another answer altogether."""
    return Fault(name, kinds, lambda kind, request, good: answer, ending, weight)


def _schema(kind: Kind) -> str:
    return json.dumps(_SCHEMAS[kind].model_json_schema())


def _spoilt(make: Callable[[list[float]], list[object]]) -> Callable[[Kind, Request, Answer], Answer]:
    """Vectors of which the first text's is spoilt."""

    def answer(kind: Kind, request: Request, good: Answer) -> Answer:
        first = request.body["input"][0]

        def vector(text: str) -> list[object]:
            whole = good_vector(text, 768)
            return make(whole) if text == first else list(whole)

        return replace(good, vector=vector)

    return answer


def stall(seconds: float) -> Fault:
    """Nothing is said for so long, then the connection breaks."""
    return _instead("stall", replace(reset(), hang=seconds), "lost", _CHATS, 0.5)


TRANSPORT = (
    _instead("429", status(429), "refused", _ALL),
    _instead("429, Retry-After 0", status(429, {"Retry-After": "0"}), "refused", _ALL),
    _instead("429, Retry-After 0.05", status(429, {"Retry-After": "0.05"}), "refused", _ALL),
    _instead("500", status(500), "refused", _ALL),
    _instead("503, Retry-After 0", status(503, {"Retry-After": "0"}), "refused", _ALL),
    _instead("reset", reset(), "lost", _ALL),
    _instead("truncated body", truncated(), "lost", _ALL),
    _instead("body without choices", Answer(raw=b'{"choices": []}'), "lost", _CHATS),
    _instead("HTML for JSON", Answer(raw=b"<html>502 Bad Gateway</html>"), "lost", _ALL),
    _instead("brackets without end", Answer(raw=b"[" * 100_000), "lost", _CHATS),
)
REPLIES = (
    _instead("empty", Answer(text=""), "unusable", _CHATS),
    _instead("no content", Answer(text=None), "unusable", _CHATS),
    _instead("ten megabytes of white space", Answer(text=" \n" * 5_000_000), "unusable", _CHATS, 0.1),
    _instead("a refusal", Answer(text=None, refusal="I cannot help with that."), "unusable", _CHATS),
    _instead("filtered", Answer(text=None, finish_reason="content_filter"), "unusable", _CHATS),
    Fault(
        "cut off",
        _CHATS,
        lambda kind, request, good: replace(
            good, text=(good.text or "")[: len(good.text or "") // 2], finish_reason="length"
        ),
        "unusable",
    ),
    Fault(
        "whole, but said to be cut off",
        _CHATS,
        lambda kind, request, good: replace(good, finish_reason="length"),
        "unusable",
    ),
    _says("prose", "I would rather not say."),
    _says("thoughts without end", "<think>They may mean the ferry, or else"),
    _says("wrong schema", '{"result": [1, 2, 3]}'),
    _says("a number", "42"),
    Fault("the schema", _JSON, lambda kind, request, good: replace(good, text=_schema(kind)), "unusable"),
    Fault(
        "an answer to another question",
        _JSON,
        lambda kind, request, good: replace(good, text=_OF_ANOTHER[kind]),
        "unusable",
    ),
    _instead('"false"', Answer(text='{"correct": "false"}'), "unusable", _JUDGE),
    _instead("INCORRECT in prose", Answer(text="The answer is INCORRECT, it seems."), "unusable", _JUDGE),
    _instead("both verdicts", Answer(text='{"correct": true, "correct": false}'), "unusable", _JUDGE),
    Fault(
        "fenced",
        _JSON,
        lambda kind, request, good: replace(good, text=f"```json\n{good.text}\n```"),
        "read",
    ),
    Fault(
        "thoughts before",
        _CHATS,
        lambda kind, request, good: replace(good, text=f'<think>Is it {{"nodes": 1}}?</think>\n{good.text}'),
        "read",
    ),
)
VECTORS = (
    Fault("NaN", _EMBED, _spoilt(lambda whole: [float("nan"), *whole[1:]]), "unusable", 3),
    Fault("an infinity", _EMBED, _spoilt(lambda whole: [float("inf"), *whole[1:]]), "unusable"),
    Fault("too short", _EMBED, _spoilt(lambda whole: list(whole[:-1])), "unusable", 2),
    Fault("of no length", _EMBED, _spoilt(lambda whole: [0.0 for _ in whole]), "unusable", 2),
    Fault(
        "one row missing", _EMBED, lambda kind, request, good: replace(good, missing_rows=1), "unusable", 3
    ),
)


def all_faults(stalled_seconds: float) -> tuple[Fault, ...]:
    """Every fault; those that stall do so for so long."""
    return (*TRANSPORT, stall(stalled_seconds), *REPLIES, *VECTORS)
