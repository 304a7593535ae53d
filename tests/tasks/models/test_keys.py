"""A key never leaves the request that it authorises."""

from __future__ import annotations

import base64
import logging
import string
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote, quote_plus

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memory.errors import BadInput, CallFailed, CallRefused
from memory.models import ChatRequest
from tasks.models.bundles import choose, require
from tasks.models.chat import GatewayChat
from tasks.models.embedding import GatewayEmbedder
from tasks.models.gateway import Gateway, Place
from tasks.models.keys import held, misplaced, redact
from tasks.models.ollama_provider import OllamaProvider
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import ChatSettings, EmbedSettings
from tasks.models.retries import Patience
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
    once = Patience(retries=0)
    for provider in (OpenAIProvider(KEY, server.openai), OllamaProvider(server.ollama)):
        for row, answer in enumerate(answers):
            gateway = open_gateway(reasks=0, chat=once, embed=once)
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


_AROUND = st.text(alphabet="abcXYZ019+/ =&", max_size=7)


@given(
    secret=st.text(alphabet=string.printable.strip(), min_size=9, max_size=40), before=_AROUND, after=_AROUND
)
def test_a_secret_is_found_plain_url_encoded_and_in_base64_at_every_alignment(
    secret: str, before: str, after: str
) -> None:
    for encode in (base64.b64encode, base64.urlsafe_b64encode):
        for letters in range(3):
            encoded = encode(f"{'x' * letters}{secret}{after}".encode()).decode()
            left = redact(encoded, (secret,)).replace("[key]", "")
            # All letters that hold the secret alone are gone; one at each end holds some bits of its surroundings.
            assert len(left) <= len(encoded) - (8 * len(secret) // 6 - 1)
    for said in (
        secret,
        quote(secret, safe=""),
        quote_plus(secret),
        "".join(f"%{ord(c):02x}" for c in secret),
    ):
        assert redact(f"{before}{said}{after}", (secret,)).count("[key]") >= 1


def test_a_word_that_stands_in_for_a_key_is_left_in_replies() -> None:
    assert redact("none of them is EMPTY, or x", ("none", "EMPTY", "x", "")) == "none of them is EMPTY, or x"


def test_what_the_process_holds_are_its_keys_and_those_inside_its_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("PREFECT_API_KEY", "PREFECT_API_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", " one-key-1234 ")
    monkeypatch.setenv("OLLAMA_API_KEY", "another-key-1234")
    monkeypatch.setenv("OPENAI_BASE_URL", "https://me:pass%2Fword@host/v1")
    monkeypatch.setenv("OLLAMA_HOST", "http://[not an address")
    assert set(held()) >= {"one-key-1234", "another-key-1234", "me", "pass/word"}


def test_a_study_for_which_a_block_is_named_is_begun_without_a_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("PALIMPSEST_OPENAI_KEY_BLOCK", raising=False)
    with pytest.raises(BadInput, match="OPENAI_API_KEY is not set"):
        require(choose("openai"))
    monkeypatch.setenv("PALIMPSEST_OPENAI_KEY_BLOCK", "a-block")
    require(choose("openai"))


@pytest.mark.parametrize(
    "fields",
    [
        {"api_key": 1},
        {"models": {"openaiApiKey": 1}},
        {"models": {"OPENAI_API_KEY": 1}},
        {"conditions": [{"settings": {"auth-token": 1}}]},
        {"password": ""},
    ],
)
def test_a_field_that_is_named_like_a_key_is_found(fields: dict[str, Any]) -> None:
    assert misplaced(fields) is not None


def test_a_field_that_counts_tokens_is_none_of_a_key() -> None:
    assert misplaced({"budget": {"tokens": 5}, "max_tokens": 3, "keyed": 1, "monkey": 2}) is None


def test_an_address_with_a_password_is_not_shown(open_gateway: Callable[..., Gateway]) -> None:
    for provider in (
        OpenAIProvider("k", "http://user:hidden@127.0.0.1:9/v1"),
        OllamaProvider("http://user:hidden@127.0.0.1:9"),
    ):
        chat = GatewayChat(open_gateway(), provider, ChatSettings("m"), Place("answer"))
        with pytest.raises(CallRefused, match="nothing answers") as failure:
            chat.ask(ChatRequest("answer", "", "q"), str)
        assert "hidden" not in "".join(traceback.format_exception(failure.value))
