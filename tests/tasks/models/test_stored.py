"""Models that only replay: what is bought comes back, what is not is a failure, and no server is ever asked."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from memory.errors import CallFailed
from memory.models import ChatRequest
from tasks.models.chat import GatewayChat
from tasks.models.embedding import GatewayEmbedder
from tasks.models.gateway import Gateway, Place
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import ChatSettings, EmbedSettings
from tasks.models.stored import NOT_BOUGHT, StoredChat, StoredEmbedder
from tests.tasks.models import fakes
from tests.tasks.models.fakes import FakeServer

Opener = Callable[..., Gateway]


def embedder(gateway: Gateway, server: FakeServer) -> GatewayEmbedder:
    provider = OpenAIProvider("sk-test-key", server.openai)
    return GatewayEmbedder(gateway, provider, EmbedSettings("m", 8, 50), Place("switches"))


def chat(gateway: Gateway, server: FakeServer) -> GatewayChat:
    provider = OpenAIProvider("sk-test-key", server.openai)
    return GatewayChat(gateway, provider, ChatSettings("m"), Place("switches"))


def request(user: str) -> ChatRequest:
    return ChatRequest(task="query_entities", system="Read.", user=user)


def test_vectors_that_were_bought_come_back_to_the_bit(server: FakeServer, open_gateway: Opener) -> None:
    bought = embedder(open_gateway(), server).embed(["b", "a", "", "b"])
    asked = server.count()
    stored = StoredEmbedder(embedder(open_gateway(), server))
    for _ in range(2):  # from the store, then from what it has read
        replayed = stored.embed(["b", "a", "", "b"])
        np.testing.assert_array_equal(replayed.vectors, bought.vectors)
        assert replayed.failures == bought.failures
    assert server.count() == asked
    assert stored.embed([]).vectors.shape == (0, 8)


def test_a_vector_that_was_not_bought_is_a_failure_and_no_call(
    server: FakeServer, open_gateway: Opener
) -> None:
    embedder(open_gateway(), server).embed(["a"])
    asked = server.count()
    with pytest.raises(CallFailed, match=f"vectors of 2 texts: {NOT_BOUGHT}"):
        StoredEmbedder(embedder(open_gateway(), server)).embed(["a", "b", "c"])
    assert server.count() == asked


def test_a_reply_that_was_not_bought_is_a_failure_and_no_call(
    server: FakeServer, open_gateway: Opener
) -> None:
    server.always(fakes.chat("yes"))
    bought = chat(open_gateway(), server).ask(request("known"), str)
    asked = server.count()
    stored = StoredChat(chat(open_gateway(), server))
    known, unknown = stored.ask_many([request("known"), request("new")], str)
    assert not isinstance(known, CallFailed)
    assert known.value == bought.value == "yes"
    assert isinstance(unknown, CallFailed)
    assert unknown.final
    assert NOT_BOUGHT in unknown.reason
    assert server.count() == asked


def test_an_unusable_reply_is_not_asked_for_again(server: FakeServer, open_gateway: Opener) -> None:
    server.always(fakes.chat("yes"))
    chat(open_gateway(), server).ask(request("known"), str)
    asked = server.count()

    def refuse(text: str) -> str:
        raise ValueError(text)

    with pytest.raises(CallFailed):
        StoredChat(chat(open_gateway(), server)).ask(request("known"), refuse)
    assert server.count() == asked
