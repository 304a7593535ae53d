"""What is asked of a local model and under which identity, with a fake server in place of llama.cpp's."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from memory.errors import BadInput, CallRefused
from memory.models import ChatRequest
from memory.prompts.extraction import ExtractionReply, request
from memory.prompts.query_entities import EntitiesReply
from tasks.context import declared
from tasks.models import local_provider, local_weights
from tasks.models.bounded_schema import MOST_CHARACTERS, MOST_ITEMS, bounded_schema
from tasks.models.bundles import chat_model, choose, require
from tasks.models.calls import Call
from tasks.models.gateway import Gateway, Place
from tasks.models.local_provider import REPLY_CAP, LocalProvider
from tasks.models.local_weights import OWN, PACKAGED, PACKAGED_SHA256, checked_file, identity
from tasks.models.pace import Ceilings, ceilings_of
from tasks.models.prices import list_prices
from tasks.models.providers import AccessRefused, ChatSettings, InputTooLong
from tasks.prompts.judge import VerdictReply
from tests.tasks.models.fakes import FakeServer, chat, status

EXTRACT = request("user", "I have a beagle.", "plain")
ANSWER = ChatRequest("answer", "system", "user")
SETTINGS = ChatSettings(PACKAGED)


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A weight file of the user's, with an engine that seems to be installed."""
    path = tmp_path / "mine.gguf"
    path.write_bytes(b"GGUF one")
    monkeypatch.setenv("PALIMPSEST_GGUF", str(path))
    monkeypatch.setattr(local_weights, "find_spec", lambda name: object())
    return path


@pytest.fixture
def started(server: FakeServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[tuple[Path, str]]]:
    """Weight file and name of each server that is started: the fake one stands for all."""
    found: list[tuple[Path, str]] = []

    class Fake:
        address = server.openai.removesuffix("/v1")

        def __init__(self, weights: Path, model: str, key: str) -> None:
            found.append((weights, model))

    monkeypatch.setattr(local_provider, "LocalServer", Fake)
    yield found


def test_other_weights_under_the_same_name_are_another_call(own: Path) -> None:
    first = LocalProvider(OWN, identity(OWN)).payload(ANSWER, ChatSettings(OWN))
    own.write_bytes(b"GGUF another")
    second = LocalProvider(OWN, identity(OWN)).payload(ANSWER, ChatSettings(OWN))
    assert Call("local", OWN, first).id != Call("local", OWN, second).id
    assert second["weights"] == hashlib.sha256(b"GGUF another").hexdigest()


def test_other_weights_make_the_stages_that_ask_them_anew(own: Path) -> None:
    choice = choose("offline", {"judge": f"local:{OWN}"})
    before = declared(choice, "extractor", "judge")
    own.write_bytes(b"GGUF another")
    after = declared(choice, "extractor", "judge")
    assert before["extractor"] == after["extractor"]
    assert before["judge"] != after["judge"]


def test_the_packaged_weights_are_known_without_their_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_weights, "find_spec", lambda name: None)
    assert identity(PACKAGED) == PACKAGED_SHA256
    assert declared(choose("local"), "judge")["judge"]["is"].endswith(PACKAGED_SHA256)


def test_a_reply_is_capped_whatever_the_user_says_or_does_not_say() -> None:
    provider = LocalProvider(PACKAGED, PACKAGED_SHA256)
    assert provider.payload(ANSWER, SETTINGS)["max_tokens"] == REPLY_CAP
    assert provider.payload(ANSWER, ChatSettings(PACKAGED, reply_cap=100))["max_tokens"] == 100
    assert provider.payload(ANSWER, SETTINGS)["temperature"] == 0.0


def test_a_schema_is_sent_bounded_and_a_json_object_as_it_is() -> None:
    provider = LocalProvider(PACKAGED, PACKAGED_SHA256)
    sent = provider.payload(EXTRACT, SETTINGS)["response_format"]["json_schema"]
    assert sent == {"name": "extract", "schema": bounded_schema(ExtractionReply), "strict": True}
    loose = provider.payload(EXTRACT, ChatSettings(PACKAGED, json_mode="object"))
    assert loose["response_format"] == {"type": "json_object"}


def test_records_by_free_keys_get_the_prompts_keys_and_free_values_none() -> None:
    schema = bounded_schema(ExtractionReply)
    assert list(schema["properties"]["nodes"]["properties"]) == ["n1", "n2", "n3"]
    assert list(schema["properties"]["edges"]["properties"]) == ["e1", "e2", "e3"]
    assert list(schema["$defs"]["NodeReply"]["properties"]) == ["label", "title", "content"]
    assert schema["required"] == ["nodes", "edges"]


@pytest.mark.parametrize("reply", [ExtractionReply, EntitiesReply, VerdictReply])
def test_the_longest_reply_that_a_schema_allows_is_finite_and_read(reply: type[BaseModel]) -> None:
    schema = bounded_schema(reply)
    longest = _longest(schema, schema.get("$defs", {}))
    assert reply.model_validate(longest)


def _longest(node: Mapping[str, Any], named: Mapping[str, Any]) -> Any:
    """The longest value of a schema; KeyError where it has no bound."""
    if "$ref" in node:
        return _longest(named[node["$ref"].rpartition("/")[2]], named)
    if "anyOf" in node:
        return _longest(node["anyOf"][0], named)
    if node["type"] == "object":
        assert node["additionalProperties"] is False
        return {name: _longest(value, named) for name, value in node["properties"].items()}
    if node["type"] == "array":
        assert node["maxItems"] == MOST_ITEMS
        return [_longest(node["items"], named)] * MOST_ITEMS
    if node["type"] == "boolean":
        return False
    assert node["maxLength"] == MOST_CHARACTERS
    return "x" * MOST_CHARACTERS


def test_the_server_starts_once_at_the_first_request_and_is_not_told_the_hash(
    own: Path, started: list[tuple[Path, str]], server: FakeServer
) -> None:
    provider = LocalProvider(OWN, identity(OWN))
    payload = provider.payload(EXTRACT, ChatSettings(OWN))
    assert started == []
    server.always(chat("{}", model=OWN))
    for _ in range(2):
        assert provider.complete(OWN, payload, 10.0).text == "{}"
    assert started == [(own, OWN)]
    assert server.requests[0].body == {"model": OWN} | {k: v for k, v in payload.items() if k != "weights"}


def test_a_proxy_of_the_environment_is_not_asked(
    own: Path, started: list[tuple[Path, str]], server: FakeServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    provider = LocalProvider(OWN, identity(OWN))
    assert provider.complete(OWN, provider.payload(ANSWER, ChatSettings(OWN)), 10.0).text == "fake reply"


def test_a_prompt_beyond_the_window_fails_its_own_call_alone(
    own: Path, started: list[tuple[Path, str]], server: FakeServer
) -> None:
    words = "request (5000 tokens) exceeds the available context size (4096 tokens), try increasing it"
    server.then(status(400, error=words))
    provider = LocalProvider(OWN, identity(OWN))
    with pytest.raises(InputTooLong):
        provider.complete(OWN, provider.payload(ANSWER, ChatSettings(OWN)), 10.0)
    assert provider.complete(OWN, provider.payload(ANSWER, ChatSettings(OWN)), 10.0).text == "fake reply"


def test_weights_that_are_not_the_expected_ones_are_not_loaded(
    own: Path, started: list[tuple[Path, str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_weights, "_packaged_file", lambda: own)
    provider = LocalProvider(PACKAGED, PACKAGED_SHA256)
    with pytest.raises(AccessRefused, match=r"holds other weights .* `make local-model` installs it anew"):
        provider.complete(PACKAGED, provider.payload(ANSWER, SETTINGS), 10.0)
    assert started == []


def test_a_file_that_changes_under_a_run_stops_it(
    own: Path, started: list[tuple[Path, str]], open_gateway: Callable[..., Gateway]
) -> None:
    model = chat_model(open_gateway(), f"local:{OWN}", Place("answer", "flat"))
    own.write_bytes(b"GGUF another, longer")
    with pytest.raises(CallRefused, match=r"mine\.gguf holds other weights .* it has changed; start again"):
        model.ask(ANSWER, str)


def test_missing_packages_are_told_in_one_line_before_anything_is_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(local_weights, "find_spec", lambda name: None)
    with pytest.raises(BadInput) as error:
        require(choose("local"))
    assert str(error.value) == (
        f"local:{PACKAGED}: its packages are not installed; `make local-model` installs them"
    )


@pytest.mark.parametrize(
    ("named", "says"), [("", "export the path of a GGUF file"), ("nowhere.gguf", "there is no such file")]
)
def test_a_file_of_ones_own_that_is_not_there_is_told_in_one_line(
    named: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PALIMPSEST_GGUF", named)
    chats = dict.fromkeys(("extractor", "query", "answerer", "judge"), f"local:{OWN}")
    with pytest.raises(BadInput, match=says):
        require(choose("local", chats))


def test_the_files_hash_is_that_of_its_bytes(own: Path) -> None:
    assert checked_file(OWN, hashlib.sha256(b"GGUF one").hexdigest()) == own


@pytest.mark.parametrize(
    ("role", "name"),
    [("judge", "local:llama"), ("answerer", "local:/etc/passwd"), ("embedder", f"local:{PACKAGED}@384")],
)
def test_only_known_names_can_be_chosen_so_none_is_a_path(role: str, name: str) -> None:
    with pytest.raises(BadInput, match=f"local has the chat models {PACKAGED}, {OWN}, and no embedder"):
        choose("local", {role: name})


def test_it_costs_nothing_and_is_asked_one_call_at_a_time() -> None:
    assert list_prices().usd("local", PACKAGED, 100, 100, 0) == 0.0
    wanted = Ceilings(max_concurrency=16, rpm=60)
    assert ceilings_of("local", wanted) == Ceilings(max_concurrency=1, rpm=60)
    assert ceilings_of("openai", wanted) == wanted
