"""From the names that a user gives to models behind the gateway."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, TypeAlias

from memory.errors import BadInput
from tasks.models.catalogue import BUNDLES, OFFLINE, OTHERS, PROVIDERS, ModelChoice, embed_settings
from tasks.models.chat import GatewayChat
from tasks.models.embedding import GatewayEmbedder
from tasks.models.gateway import Gateway, Place
from tasks.models.keys import BLOCK, left_to_the_run, openai_key
from tasks.models.local_weights import MODELS, identity, weight_file
from tasks.models.offline_provider import OfflineProvider
from tasks.models.providers import ChatSettings, EmbedSettings, JsonMode
from tasks.models.simulated import SimulatedChat, SimulatedEmbedder, Simulation

# The clients of the network providers are imported where they are used: an offline study has no need of them.
if TYPE_CHECKING:
    from tasks.models.local_provider import LocalProvider
    from tasks.models.ollama_provider import OllamaProvider
    from tasks.models.openai_batches import OpenAIBatches
    from tasks.models.openai_provider import OpenAIProvider

Provider: TypeAlias = "OfflineProvider | OllamaProvider | OpenAIProvider"


def choose(bundle: str, overrides: Mapping[str, str] | None = None) -> ModelChoice:
    """A bundle's models, some replaced by the user's own, by role.

    Raises:
        BadInput: If the bundle, a role, a provider or an offline model is unknown, or an embedder's dimensions are.
    """
    if bundle not in BUNDLES:
        raise BadInput(f"--models {bundle}: no such bundle; choose one of {', '.join(BUNDLES)}")
    for role in overrides or {}:
        if role not in OFFLINE:
            raise BadInput(f"models: there is no {role} to choose; the roles are {', '.join(OFFLINE)}")
    choice = BUNDLES[bundle].model_copy(update=dict(overrides or {}))
    for role, only in OFFLINE.items():
        name = getattr(choice, role)
        alias, model = _split(name)
        known = (only, *OTHERS.get(role, ()))
        if alias == "offline" and model not in known:
            raise BadInput(f"{role} {name}: offline models for this: {', '.join(known)}")
        if alias == "local" and (role == "embedder" or model not in MODELS):
            raise BadInput(f"{role} {name}: local has the chat models {', '.join(MODELS)}, and no embedder")
    _split_embedder(choice.embedder)
    return choice


def require(choice: ModelChoice) -> None:
    """Connect to nothing, but make sure that every provider of a choice can be set up.

    Raises:
        BadInput: If a key, a package or a file is missing, or an address is none.
    """
    for name in (choice.extractor, choice.query, choice.answerer, choice.judge, choice.embedder):
        alias, model = _split(name)
        if alias == "local":
            weight_file(model)
        elif not (alias == "openai" and left_to_the_run()):
            provider(alias)


def chat_model(
    gateway: Gateway,
    name: str,
    place: Place,
    *,
    json_mode: JsonMode = "schema",
    reply_cap: int | None = None,
    repeat: int = 0,
) -> GatewayChat:
    """The chat model `provider:model` behind a gateway.

    Raises:
        BadInput: If the name is unknown or the provider's key is missing.
    """
    alias, model = _split(name)
    settings = ChatSettings(model, json_mode=json_mode, reply_cap=reply_cap)
    asked = _local_model(model) if alias == "local" else provider(alias)
    return GatewayChat(gateway, asked, settings, place, repeat)


def embedder(gateway: Gateway, name: str, place: Place) -> GatewayEmbedder:
    """The embedding model `provider:model` or `provider:model@dimensions` behind a gateway.

    Raises:
        BadInput: If the name is unknown or the provider's key is missing.
    """
    alias, settings = _split_embedder(name)
    return GatewayEmbedder(gateway, provider(alias), settings, place)


def simulated_chat_model(
    simulation: Simulation,
    name: str,
    place: Place,
    *,
    json_mode: JsonMode = "schema",
    reply_cap: int | None = None,
    repeat: int = 0,
) -> SimulatedChat:
    """The chat model `provider:model` of a simulation: the same calls as `chat_model` makes, and no key is needed.

    Raises:
        BadInput: If the name is unknown.
    """
    alias, model = _split(name)
    settings = ChatSettings(model, json_mode=json_mode, reply_cap=reply_cap)
    unasked = _local_model(model) if alias == "local" else _unasked(alias)
    return SimulatedChat(simulation, unasked, settings, place, repeat)


def simulated_embedder(simulation: Simulation, name: str, place: Place) -> SimulatedEmbedder:
    """The embedding model `provider:model` of a simulation: the same calls as `embedder` makes.

    Raises:
        BadInput: If the name is unknown.
    """
    alias, settings = _split_embedder(name)
    return SimulatedEmbedder(simulation, _unasked(alias), settings, place)


def _unasked(alias: str) -> Provider:
    """A provider that only says how it would ask."""
    return _openai("no key, for nothing is sent", None) if alias == "openai" else provider(alias)


def batches_of(alias: str) -> OpenAIBatches:
    """The batch interface of a provider, which must be one of `BATCHING`.

    Raises:
        BadInput: As `provider`.
    """
    from tasks.models.openai_batches import OpenAIBatches
    from tasks.models.openai_provider import OpenAIProvider

    found = provider(alias)
    if not isinstance(found, OpenAIProvider):
        raise LookupError(f"{alias} has no batch interface")
    return OpenAIBatches(found)


def provider(alias: str) -> Provider:
    """The process's one provider of that name, set up from the environment as it is now; `local` has one a model.

    Raises:
        BadInput: If a key is missing or an address is none.
    """
    if alias == "openai":
        return _openai(openai_key(), os.environ.get("OPENAI_BASE_URL") or None)
    if alias == "ollama":
        return _ollama(os.environ.get("OLLAMA_HOST") or None)
    return _offline()


def _split_embedder(name: str) -> tuple[str, EmbedSettings]:
    alias, model = _split(name)
    settings = embed_settings(alias, model)
    if settings is None:
        raise BadInput(f"embedder {name}: its dimensions are not known; say {name.partition('@')[0]}@768")
    return alias, settings


def _split(name: str) -> tuple[str, str]:
    alias, _, model = name.partition(":")  # Ollama's own names have colons too
    if alias not in PROVIDERS or not model:
        raise BadInput(f"{name}: write provider:model, with one of the providers {', '.join(PROVIDERS)}")
    return alias, model


@cache
def _openai(key: str, base_url: str | None) -> OpenAIProvider:
    from tasks.models.openai_provider import OpenAIProvider

    if not key:
        raise BadInput(
            "OPENAI_API_KEY is not set: export it, or keep it in the Prefect Secret block that "
            f"PALIMPSEST_OPENAI_KEY_BLOCK names (in a deployment: {BLOCK}), or choose --models offline"
        )
    return OpenAIProvider(key, base_url)


def _local_model(model: str) -> LocalProvider:
    return _local(model, identity(model))


@cache
def _local(model: str, weights: str) -> LocalProvider:
    from tasks.models.local_provider import LocalProvider

    return LocalProvider(model, weights)


@cache
def _ollama(host: str | None) -> OllamaProvider:
    from tasks.models.ollama_provider import OllamaProvider

    return OllamaProvider(host)


@cache
def _offline() -> OfflineProvider:
    return OfflineProvider()
