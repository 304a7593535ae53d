"""What a user may name, and what comes of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from pydantic import BaseModel

from memory.errors import BadInput
from memory.models import ChatRequest
from tasks.models.bundles import chat_model, choose, embedder, provider, require
from tasks.models.catalogue import ABOUT, BUNDLES, embed_settings
from tasks.models.gateway import Gateway, Place
from tasks.models.prices import list_prices
from tasks.models.schemas import strict_schema
from tests.tasks.models import fakes
from tests.tasks.models.fakes import FakeServer


def test_the_published_bundle_is_the_papers() -> None:
    choice = choose("published")
    chats = {choice.extractor, choice.query, choice.answerer, choice.judge}
    assert chats == {"openai:gpt-4o-mini"}
    assert choice.embedder == "ollama:nomic-embed-text"
    assert choice.json_mode == "object"
    settings = embed_settings("ollama", "nomic-embed-text")
    assert settings is not None
    assert settings.dimensions == 768


def test_every_bundle_is_valid_and_described() -> None:
    assert set(ABOUT) == set(BUNDLES)
    for bundle in BUNDLES:
        assert choose(bundle) == BUNDLES[bundle]


def test_each_role_is_chosen_separately() -> None:
    choice = choose("offline", {"judge": "openai:gpt-4o", "embedder": "ollama:snowflake@1024"})
    assert (choice.judge, choice.embedder) == ("openai:gpt-4o", "ollama:snowflake@1024")
    assert choice.extractor == "offline:noun-phrases"


@pytest.mark.parametrize(
    ("bundle", "overrides", "says"),
    [
        ("gpt", {}, "--models gpt: no such bundle; choose one of offline, published, openai, ollama"),
        ("offline", {"jugde": "openai:x"}, "there is no jugde to choose"),
        ("offline", {"judge": "gpt-4o"}, "gpt-4o: write provider:model"),
        ("offline", {"judge": "anthropic:x"}, "anthropic:x: write provider:model"),
        ("offline", {"judge": "openai:"}, "openai:: write provider:model"),
        (
            "offline",
            {"judge": "offline:extractive"},
            "judge offline:extractive: offline models for this: lexical",
        ),
        ("offline", {"embedder": "offline:e5"}, "embedder offline:e5: offline models for this: minilm"),
        ("offline", {"embedder": "ollama:new"}, "its dimensions are not known; say ollama:new@768"),
        ("offline", {"embedder": "ollama:new@x"}, "its dimensions are not known; say ollama:new@768"),
    ],
)
def test_what_cannot_be_chosen_is_one_clear_line(bundle: str, overrides: dict[str, str], says: str) -> None:
    with pytest.raises(BadInput) as error:
        choose(bundle, overrides)
    assert says in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_key_is_told_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    require(choose("offline"))
    require(choose("ollama"))
    with pytest.raises(BadInput, match="OPENAI_API_KEY is not set"):
        require(choose("published"))


def test_an_address_that_is_none_is_told_before_anything_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    monkeypatch.setenv("OPENAI_BASE_URL", "localhost:8000")
    with pytest.raises(BadInput, match="OPENAI_BASE_URL is not an address"):
        require(choose("openai"))


def test_one_client_serves_a_process_until_the_environment_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    first = provider("openai")
    assert provider("openai") is first
    monkeypatch.setenv("OPENAI_API_KEY", "sk-two")
    assert provider("openai") is not first


def test_models_are_opened_by_name_from_the_environment(
    server: FakeServer, open_gateway: Callable[..., Gateway], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-one")
    monkeypatch.setenv("OPENAI_BASE_URL", server.openai)
    monkeypatch.setenv("OLLAMA_HOST", server.ollama)
    gateway = open_gateway()
    for name in ("openai:gpt-4o-mini", "ollama:qwen2.5:7b"):
        chat = chat_model(gateway, name, Place("answer", "flat"))
        assert chat.name == name
        assert chat.ask(ChatRequest("answer", "s", "u"), str).value == "fake reply"
    vectors = embedder(gateway, "ollama:nomic@8", Place("embed"))
    assert (vectors.name, vectors.dimensions) == ("ollama:nomic", 8)
    assert vectors.embed(["a"]).vectors.shape == (1, 8)
    rows = gateway.ledger.rows("run").to_pylist()
    assert [row["usd"] for row in rows] == [
        pytest.approx((60 * 0.15 + 40 * 0.075 + 20 * 0.6) / 1e6),
        0.0,
        0.0,
    ]
    assert [row["condition"] for row in rows] == ["flat", "flat", ""]


def test_an_unknown_price_is_none_and_never_zero() -> None:
    assert list_prices().usd("openai", "some-new-model", 1, 1, 0) is None
    assert list_prices().usd("openai", "gpt-4o-mini", None, None, None) is None
    assert list_prices().usd("openai", "gpt-4o-mini", 1_000_000, 0, None) == 0.15
    assert list_prices().usd("ollama", "anything", None, None, None) == 0.0


def test_the_fake_keeps_to_what_it_was_told(server: FakeServer) -> None:
    server.then(fakes.chat("first"))
    server.always(fakes.chat("others"))
    texts = [server.answer(fakes.Request("/v1/chat/completions", {}, {})).text for _ in range(3)]
    assert texts == ["first", "others", "others"]


class Part(BaseModel):
    name: str
    size: int | None = None


class Whole(BaseModel):
    parts: list[Part]


class Free(BaseModel):
    parts: list[Part]
    attributes: dict[str, str]


def test_a_schema_is_closed_at_every_depth_or_not_strict_at_all() -> None:
    schema = strict_schema(Whole)
    assert schema is not None
    for record in (schema, schema["$defs"]["Part"]):
        assert record["additionalProperties"] is False
        assert record["required"] == list(record["properties"])
    assert "default" not in str(schema)
    assert strict_schema(Free) is None
