"""The offline models go through the same gateway, and are paid for nothing twice."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from memory.errors import CallFailed
from memory.models import ChatRequest, Reply
from tasks.models import chat as chat_module
from tasks.models.bundles import chat_model, embedder
from tasks.models.chat import GatewayChat
from tasks.models.gateway import Gateway, Place
from tasks.models.offline.chat import VERSIONS, OfflineChat
from tasks.models.offline.minilm import MiniLM
from tasks.models.offline_provider import OfflineProvider
from tasks.models.providers import ChatSettings

Opener = Callable[..., Gateway]
NAME = "offline:lexical"


def request(answer: str, user: str = "prompt") -> ChatRequest:
    inputs = {"question": "Where?", "reference": "in Berlin", "answer": answer}
    return ChatRequest("judge", "system", user, inputs)


@pytest.fixture
def completed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The answers that the judge was asked about."""
    asked: list[str] = []

    def complete(self: OfflineChat, task: str, inputs: dict[str, str]) -> str:
        asked.append(inputs["answer"])
        return "" if inputs["answer"] == "bad" else f"{task}: {inputs['answer']}"

    monkeypatch.setattr(OfflineChat, "complete", complete)
    return asked


def test_a_request_is_computed_once_whatever_its_prompt(open_gateway: Opener, completed: list[str]) -> None:
    for user in ("one prompt", "another prompt"):
        gateway = open_gateway()
        reply = chat_model(gateway, NAME, Place("judge")).ask(request("a", user), str)
        assert reply.value == "judge: a"
    assert completed == ["a"]
    totals = gateway.ledger.totals("run")
    assert (totals.paid, totals.replayed, totals.usd, totals.unpriced) == (1, 1, 0.0, 0)


def test_many_requests_are_computed_once_each_and_kept_by_the_chunk(
    open_gateway: Opener, completed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(chat_module, "_CHUNK", 3)
    requests = [request(answer) for answer in ("a", "b", "bad", "a", "c", "b", "d")]
    gateway = open_gateway()
    results = chat_model(gateway, NAME, Place("judge")).ask_many(requests, str)
    values = [result.value if isinstance(result, Reply) else result.reason for result in results]
    assert values[:2] == ["judge: a", "judge: b"]
    assert values[3:] == ["judge: a", "judge: c", "judge: b", "judge: d"]
    assert values[2] == "no usable reply in 1 attempt: the reply is empty"
    assert sorted(completed) == ["a", "b", "bad", "c", "d"]
    gateway = open_gateway()
    again = chat_model(gateway, NAME, Place("judge")).ask_many(requests, str)
    assert isinstance(again[2], CallFailed)
    assert all(result.replayed for result in again if isinstance(result, Reply))
    assert len(completed) == 5
    assert gateway.ledger.totals("run", now=True).paid == 0


def test_another_version_of_the_procedure_is_another_call(
    open_gateway: Opener, completed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = set()
    for version in ("1", "2"):
        monkeypatch.setitem(VERSIONS, "lexical", version)
        chat = GatewayChat(open_gateway(), OfflineProvider(), ChatSettings("lexical"), Place("judge"))
        ids.add(chat.ask(request("a"), str).call_id)
    assert len(ids) == 2


def test_minilm_through_the_gateway_is_minilm(open_gateway: Opener) -> None:
    texts = ["I moved to Berlin.", "", "The cat sleeps. " * 200]
    gateway = open_gateway()
    embedded = embedder(gateway, "offline:minilm", Place("embed")).embed(texts)
    assert dict(embedded.failures) == {1: "blank text"}
    np.testing.assert_allclose(embedded.vectors[[0, 2]], MiniLM().embed([texts[0], texts[2]]), atol=1e-6)
    flags = gateway.ledger.rows("run").column("flags").to_pylist()
    assert sorted(flags) == ["", "input_cut"]
    again = embedder(open_gateway(), "offline:minilm", Place("embed")).embed(texts)
    assert again.vectors.tobytes() == embedded.vectors.tobytes()
