"""A key never leaves the request that it authorises."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest

from memory.errors import CallFailed, CallRefused
from memory.models import ChatRequest
from tasks.models.chat import GatewayChat
from tasks.models.embedding import GatewayEmbedder
from tasks.models.gateway import Gateway, Place
from tasks.models.keys import redact
from tasks.models.ollama_provider import OllamaProvider
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import ChatSettings, EmbedSettings
from tests.tasks.models import fakes
from tests.tasks.models.fakes import FakeServer

KEY = "planted-key-7c1e"
ECHO = f"Incorrect API key provided: {KEY}. Bearer {KEY}"


def test_a_planted_key_is_in_no_file_no_error_and_no_log(
    server: FakeServer,
    open_gateway: Callable[..., Gateway],
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("OLLAMA_API_KEY", KEY)
    shown: list[str] = []
    answers = [
        fakes.chat(f"your key is {KEY}"),
        fakes.chat(None, refusal=ECHO),
        fakes.chat(f"{KEY}", "length"),
        fakes.garbage(),
        *[fakes.status(code, error=ECHO) for code in (400, 429, 500, 401)],
    ]
    for provider in (OpenAIProvider(KEY, server.openai), OllamaProvider(server.ollama)):
        for row, answer in enumerate(answers):
            gateway = open_gateway(reasks=0)
            server.always(answer)
            chat = GatewayChat(gateway, provider, ChatSettings("m"), Place("answer"))
            try:
                shown.append(chat.ask(ChatRequest("answer", "", f"question {row}"), str).text)
            except (CallFailed, CallRefused) as error:
                shown.append("".join(traceback.format_exception(error)))
            embedder = GatewayEmbedder(gateway, provider, EmbedSettings("m", 8, 50), Place("embed"))
            try:
                shown.extend(embedder.embed([f"text {row}"]).failures.values())
            except (CallFailed, CallRefused) as error:
                shown.append("".join(traceback.format_exception(error)))
            shown.append(str(gateway.ledger.rows("run").to_pylist()))
    assert any(KEY in header for asked in server.requests for header in asked.headers.values())
    assert not [text for text in shown if KEY in text]
    assert not [record for record in caplog.records if KEY in record.getMessage()]
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]


def test_anything_shaped_like_a_key_is_taken_out() -> None:
    said = "key sk-proj-abc_DEF-123456, header Bearer abcdef123, word sk-8"
    assert redact(said, ()) == "key [key], header [key], word sk-8"


def test_an_address_with_a_password_is_not_shown(open_gateway: Callable[..., Gateway]) -> None:
    for provider in (
        OpenAIProvider("k", "http://user:hidden@127.0.0.1:9/v1"),
        OllamaProvider("http://user:hidden@127.0.0.1:9"),
    ):
        chat = GatewayChat(open_gateway(), provider, ChatSettings("m"), Place("answer"))
        with pytest.raises(CallRefused, match="nothing answers") as failure:
            chat.ask(ChatRequest("answer", "", "q"), str)
        assert "hidden" not in "".join(traceback.format_exception(failure.value))
