"""Every bad reply to each kind of request, over real HTTP: one row with a reason, no other row lost."""

from __future__ import annotations

import gzip
import json
import math
import re
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from tasks.models import gateway
from tasks.models.catalogue import BUNDLES
from tasks.models.retries import Patience
from tests.flows.fake_llm import in_the_place_of_providers, kind_of, reply
from tests.flows.study_in_loop import Watched, conditions, run_in_loop
from tests.tasks.models.fakes import Answer, FakeServer, Request, chat, good_vector, truncated, vectors

REASKS = 2
QUESTIONS = 12
DEEP = "[" * 100_000 + "]" * 100_000
MEGABYTES = Answer(raw=b" " * 10_000_000 + b"{}")
KINDS = ("extract", "query", "answer", "judge")
JSON = ("extract", "query", "judge")

# What is wrong, the answer, and the reason of the row, by the kinds of request to which it is bad.
CHATS: list[tuple[str, Answer, dict[str, str]]] = [
    ("empty", chat(""), dict.fromkeys(KINDS, "the reply is empty")),
    ("no content", chat(None), dict.fromkeys(KINDS, "the reply is empty")),
    ("content that is no text", chat(["part"]), dict.fromkeys(KINDS, "the reply is empty")),  # type: ignore[arg-type]
    ("white space", chat(" \n" * 1_000_000), dict.fromkeys(KINDS, "the reply is empty")),
    ("white space without end", MEGABYTES, dict.fromkeys(KINDS, "finish_reason is overlong")),
    ("content without end", chat("x" * 5_000_000), dict.fromkeys(KINDS, "finish_reason is overlong")),
    ("cut off by length", chat('{"nodes": {', "length"), dict.fromkeys(KINDS, "finish_reason is length")),
    ("filtered", chat("Well", "content_filter"), dict.fromkeys(KINDS, "finish_reason is content_filter")),
    ("a tool call", chat("{}", "tool_calls"), dict.fromkeys(KINDS, "finish_reason is tool_calls")),
    ("a reason that is no word", chat("{}", {"x": 1}), dict.fromkeys(KINDS, "finish_reason is dict")),  # type: ignore[arg-type]
    ("a refusal", chat("no", refusal="I cannot."), dict.fromkeys(KINDS, "the model refuses")),
    ("thoughts alone", chat("<think>Hm.</think>"), dict.fromkeys(KINDS, "empty|no complete|Expecting value")),
    ("prose", chat("I would rather not."), dict.fromkeys(JSON, "no complete JSON|Expecting value")),
    ("cut off unsaid", chat('{"nodes": {"n1"'), dict.fromkeys(JSON, "no complete JSON|delimiter")),
    (
        "wrong schema",
        chat('{"result": [1]}'),
        dict.fromkeys(JSON, "neither nodes nor edges|no list named|no boolean"),
    ),
    (
        "the schema",
        chat('{"properties": {"nodes": {}}, "type": "object"}'),
        dict.fromkeys(JSON, "repeats the JSON schema|no boolean"),
    ),
    ("nested deeply", chat(DEEP), dict.fromkeys(JSON, "no complete JSON|nested too deeply")),
    (
        "verdict in quotes",
        chat('{"correct": "false"}'),
        dict.fromkeys(JSON, "neither nodes|no list named|no boolean"),
    ),
    ("INCORRECT in prose", chat("It is INCORRECT."), dict.fromkeys(JSON, "no complete JSON|Expecting value")),
    (
        "both verdicts",
        chat('{"correct": true, "correct": false}'),
        dict.fromkeys(JSON, "neither nodes|no list named|a field twice"),
    ),
    (
        "of another question",
        chat('{"subject": "x"}'),
        dict.fromkeys(JSON, "neither nodes nor edges|no list named|no boolean"),
    ),
    # Bad, but of use: what is in them that cannot be used is left out.
    (
        "ids never offered",
        chat('{"nodes": {}, "edges": {"e": {"source": "n9", "target": "n7", "relationship": "r"}}}'),
        {"query": "no list named", "judge": "no boolean"},
    ),
    (
        "odd values",
        chat(
            json.dumps(
                {
                    "nodes": {
                        "\ud800{0}": {
                            "label": "Concept",
                            "title": "[/b]%s\x00\x1b[31m\u202e{x}",
                            "attributes": {"big": 10**300, "deep": [[{"a": 1}]], "\udfff": "\ud83d"},
                        }
                    },
                    "edges": {},
                    "entities": [{"label": None, "title": "\ud800[/]{0}", "content": 10**400}, 7, None],
                    "correct": True,
                    "why": "\ud83d{0}%s\x1b[2J",
                }
            )
        ),
        {},
    ),
    ("fenced", chat('```json\n{"nodes": [], "entities": [], "correct": true}\n```'), {}),
    ("thoughts before", chat('<think>{</think>{"nodes": [], "entities": [], "correct": true}'), {}),
]
# Faults of the transport: no reply that could be stored. The row is pending, and the next run asks again.
LOST: list[tuple[str, Answer, str]] = [
    ("a body cut off", truncated(), "connection failed"),
    ("HTML", Answer(raw=b"<html>502</html>"), "not readable"),
    ("no choices", Answer(raw=b'{"choices": []}'), "no choices"),
    ("an array", Answer(raw=b"[]"), "no choices"),
    ("brackets without end", Answer(raw=b"[" * 1_000_000), "not readable"),
    ("no UTF-8", Answer(raw=b'{"choices": "\xff\xfe"}'), "not readable"),
    (
        "compressed against the request",
        Answer(raw=gzip.compress(b" " * 10_000_000), headers={"Content-Encoding": "gzip"}),
        "connection failed",
    ),
    ("an error without end", Answer(status=500, raw=b"x" * 5_000_000), "HTTP 500"),
]


@dataclass
class Spoiler:
    """Spoils requests of one kind, each distinct one by another bad answer of a list; all others are answered well."""

    kind: str
    answers: list[Answer]
    spoilt: dict[str, Answer] = field(default_factory=dict)
    asked: dict[str, int] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, request: Request) -> Answer:
        if "messages" not in request.body or kind_of(request) != self.kind:
            return reply(request)
        with self.lock:
            text = request.user
            if text not in self.spoilt and len(self.spoilt) < len(self.answers):
                self.spoilt[text] = self.answers[len(self.spoilt)]
            self.asked[text] = self.asked.get(text, 0) + 1
            return self.spoilt.get(text) or reply(request)

    def times(self, answer: Answer) -> int:
        """How often the request that it spoilt was made."""
        return next(self.asked[text] for text, given in self.spoilt.items() if given is answer)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeServer]:
    patience = Patience(server=1, lost=1, first_wait=0.0, longest_wait=0.0)
    limits = partial(gateway.Limits, reasks=REASKS, chat=patience, embed=patience, failures_in_a_row=1000)
    monkeypatch.setattr("tasks.context.Limits", limits)
    with in_the_place_of_providers(monkeypatch) as fake:
        yield fake


def run_study(folder: Path, embedder: str = "ollama:nomic-embed-text", **fields: Any) -> Watched:
    folder.mkdir(exist_ok=True)
    models = BUNDLES["published"].model_dump() | {"embedder": embedder}
    return run_in_loop(folder, models=models, conditions=conditions("graph"), max_failed=1, **fields)


def failed_rows(run: Watched, kind: str) -> pd.DataFrame:
    """The rows of the kind of request that have no value."""
    table = {"extract": "extractions", "query": "recalls", "answer": "answers", "judge": "verdicts"}[kind]
    rows = run.table(table)
    return rows[rows["status"].isin(["failed", "unparsed"])]


def assert_matched(reasons: Iterable[str], patterns: Iterable[str]) -> None:
    """As many reasons as patterns, each of them with its own."""
    left = list(reasons)
    for pattern in patterns:
        matching = [reason for reason in left if re.search(pattern, reason)]
        assert matching, (pattern, left)
        left.remove(matching[0])
    assert not left


@pytest.mark.parametrize("kind", KINDS)
def test_each_bad_reply_is_one_row_with_its_reason_after_the_reasks_that_are_set(
    server: FakeServer, tmp_path: Path, kind: str
) -> None:
    at_once = len(CHATS) if kind == "extract" else QUESTIONS
    for first in range(0, len(CHATS), at_once):
        given = CHATS[first : first + at_once]
        spoiler = Spoiler(kind, [replace(answer) for _, answer, _ in given])
        server.always(spoiler)
        run = run_study(tmp_path / str(first))
        assert run.run.status == "complete"
        for (name, _, reasons), answer in zip(given, spoiler.answers, strict=True):
            assert spoiler.times(answer) == (1 + REASKS if kind in reasons else 1), name
        failed = failed_rows(run, kind)
        assert_matched(failed["reason"], [reasons[kind] for _, _, reasons in given if kind in reasons])
        assert failed["final"].all()
        assert all(reason.isprintable() for reason in failed["reason"])
        assert len(run.table("metrics")) == QUESTIONS
        sent = server.count()
        run_study(tmp_path / str(first))
        assert server.count() == sent, "what stayed bad is not paid for again"


@pytest.mark.parametrize("kind", ["extract", "answer"])
def test_a_reply_that_cannot_be_read_is_one_pending_row_that_the_next_run_mends(
    server: FakeServer, tmp_path: Path, kind: str
) -> None:
    spoiler = Spoiler(kind, [replace(answer) for _, answer, _ in LOST])
    server.always(spoiler)
    run = run_study(tmp_path)
    assert run.run.status == "incomplete"
    for (name, _, _), answer in zip(LOST, spoiler.answers, strict=True):
        assert spoiler.times(answer) == 2, name
    failed = failed_rows(run, kind)
    assert_matched(failed["reason"], [reason for _, _, reason in LOST])
    assert not failed["final"].any()
    server.always(reply)
    mended = run_study(tmp_path)
    assert mended.run.status == "complete"
    assert failed_rows(mended, kind).empty


VECTORS: list[tuple[str, Callable[[list[float]], list[Any]]]] = [
    ("NaN", lambda whole: [math.nan, *whole[1:]]),
    ("an infinity", lambda whole: [math.inf, *whole[1:]]),
    ("beyond float32", lambda whole: [1e300, *whole[1:]]),
    ("an endless integer", lambda whole: [10**400, *whole[1:]]),
    ("too short", lambda whole: whole[1:]),
    ("too long", lambda whole: [*whole, 0.1]),
    ("of no length", lambda whole: [0.0 for _ in whole]),
    ("empty", lambda whole: []),
    ("of null", lambda whole: [None, *whole[1:]]),
    ("of words", lambda whole: ["one", *whole[1:]]),
    ("of lists", lambda whole: [[number] for number in whole]),
    ("ragged", lambda whole: [[0.1, 0.2], *whole[1:]]),
]


@pytest.mark.parametrize("embedder", ["ollama:nomic-embed-text", "openai:text-embedding-3-small"])
def test_each_bad_vector_costs_its_own_text_and_no_other(
    server: FakeServer, tmp_path: Path, embedder: str
) -> None:
    server.dimensions = 1536 if embedder.startswith("openai") else 768
    spoilt: dict[str, Callable[[list[float]], list[Any]]] = {}

    def vector(text: str) -> list[Any]:
        if text not in spoilt and len(spoilt) < len(VECTORS):
            spoilt[text] = VECTORS[len(spoilt)][1]
        whole = good_vector(text, server.dimensions)
        return spoilt[text](whole) if text in spoilt else whole

    def answer(request: Request) -> Answer:
        return reply(request) if "messages" in request.body else vectors(vector)

    server.always(answer)
    run = run_study(tmp_path, embedder)
    assert run.run.status == "complete"
    assert run.run.counts["embed"]["failed"] == len(VECTORS)
    calls = run.table("calls").query("task == 'embed' and outcome in ('unusable', 'failed')")
    assert calls["reason"].str.contains("the vector ").all()
    assert set(calls["call_id"].value_counts()) <= {1, 2}, "once more at most"
    assert len(run.table("metrics")) == QUESTIONS
