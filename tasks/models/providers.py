"""What the gateway asks of a provider, and the faults that a provider may report."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from memory.models import ChatRequest, Vectors
from memory.tokens import sendable
from results.rendering import plain
from tasks.models.calls import Payload
from tasks.models.keys import redact

JsonMode = Literal["schema", "object"]


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """How a chat model is asked.

    Attributes:
        model: The provider's name for it.
        temperature: Zero for reproducible replies.
        json_mode: Where a JSON reply is wanted, whether the provider is sent its schema, or only told that it
            must be a JSON object, as in the published study.
        reply_cap: Most tokens of a reply whose request has no cap of its own; none leaves it to the provider.
    """

    model: str
    temperature: float = 0.0
    json_mode: JsonMode = "schema"
    reply_cap: int | None = None

    def cap(self, request: ChatRequest) -> int | None:
        """Most tokens of the reply to a request."""
        return self.reply_cap if request.max_tokens is None else request.max_tokens


@dataclass(frozen=True, slots=True)
class EmbedSettings:
    """How an embedding model is asked.

    Attributes:
        model: The provider's name for it.
        dimensions: Length of its vectors; a vector of another length is a fault.
        max_tokens: Longer inputs are cut to this many o200k tokens, which must lie inside the model's own
            window.
        batch: Most texts in one request.
        batch_tokens: Most tokens in one request, roughly (a single text may be longer).
    """

    model: str
    dimensions: int
    max_tokens: int
    batch: int = 64
    batch_tokens: int = 32_000


@dataclass(frozen=True, slots=True)
class RawReply:
    """A chat reply before anyone has judged it.

    Attributes:
        text: The content, empty if there is none.
        finish_reason: `stop` if the model came to its end, else the provider's word, such as `length`.
        model: The model that answered, as the provider says.
        refusal: The provider's explicit refusal, if it made one.
        request_id: The provider's own name for the request.
    """

    text: str
    finish_reason: str
    model: str
    refusal: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    request_id: str | None = None


OVERLONG = RawReply(text="", finish_reason="overlong", model="")
"""Stands for a reply that was given up because its body is longer than any sound one: stored, and of no use."""


@dataclass(frozen=True, slots=True)
class RawVectors:
    """Vectors as they came, unchecked.

    Attributes:
        rows: One for each text, in order; empty where the provider left one out.
        model: The model that answered, as the provider says.
        prompt_tokens: Of the whole batch.
        cut: Rows whose text the model read only the beginning of, where the provider knows.
    """

    rows: Sequence[Sequence[float] | Vectors]
    model: str
    prompt_tokens: int | None = None
    cut: frozenset[int] = frozenset()


class ProviderFault(Exception):
    """A request brought no reply. The reason is one line without keys and without conversation text."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
        self.retries = 0
        self.may_be_billed = False


Trouble = Literal["rate", "server", "lost", "unreached"]
"""`rate`: asked too often. `server`: a fault of the provider's own, not billed. `lost`: sent, and no whole reply was
seen, so that it may be billed. `unreached`: never sent."""


class TransportFault(ProviderFault):
    """The provider was not reached or too busy: worth another try, `retry_after` seconds later if given."""

    def __init__(self, reason: str, retry_after: float | None = None, kind: Trouble = "server") -> None:
        super().__init__(reason)
        self.retry_after = retry_after
        self.kind = kind
        self.may_be_billed = kind == "lost"


class RequestRejected(ProviderFault):
    """The provider will never accept this request; others may do."""


class InputTooLong(RequestRejected):
    """The request is longer than the model's window."""


class AccessRefused(ProviderFault):
    """No request of this kind can succeed: a bad key, an empty account, a model that is not there."""


class ChatProvider(Protocol):
    """A provider of chat models."""

    @property
    def alias(self) -> str:
        """Short name, part of every call's id; it stands for the endpoint, whose address is not."""

    @property
    def local(self) -> bool:
        """Whether it computes in this process, so that asking concurrently gains nothing."""

    def payload(self, request: ChatRequest, settings: ChatSettings) -> Payload:
        """Everything of the request that the provider consumes: what is hashed is what is sent."""

    def complete(self, model: str, payload: Payload, seconds: float) -> RawReply:
        """Ask once, for at most so many seconds.

        Raises:
            ProviderFault: If there is no reply; see its kinds.
        """


class EmbedProvider(Protocol):
    """A provider of embedding models."""

    @property
    def alias(self) -> str:
        """See `ChatProvider.alias`."""

    @property
    def local(self) -> bool:
        """See `ChatProvider.local`."""

    def embed_payload(self, text: str, settings: EmbedSettings) -> Payload:
        """Everything that determines the vector of a text, apart from the model's name."""

    def embed(self, texts: Sequence[str], settings: EmbedSettings, seconds: float) -> RawVectors:
        """Embed a batch, for at most so many seconds.

        Raises:
            ProviderFault: If there is no reply; see its kinds.
        """


_MOST_TOKENS = 10**12
_MOST_READ = 10_000
_TOO_LONG = re.compile(
    r"context.length|maximum.context|too.long|exceeds?.*(context|window|maximum.*tokens)", re.IGNORECASE
)


def one_line(message: object, secrets: Sequence[str], most: int = 300) -> str:
    """What a provider says, short, on one line, without keys and without what steers a terminal."""
    text = message if isinstance(message, str) else type(message).__name__
    return plain(redact(text[:_MOST_READ], secrets))[:most]


def text_of(value: object, secrets: Sequence[str]) -> str:
    """Text of a reply that may be kept: without keys, empty where it is no text."""
    return sendable(redact(value, secrets)) if isinstance(value, str) else ""


def status_fault(status: int, message: str, code: str | None, retry_after: float | None) -> ProviderFault:
    """The fault that an HTTP status stands for.

    `message` must be redacted. It is shown only for faults of access: elsewhere it may quote the
    conversation.
    """
    named = f"HTTP {status}" + (f" ({code})" if code else "")
    if status in {401, 403}:
        return AccessRefused(f"{named}: {message}")
    if status == 404:
        return AccessRefused(f"{named}: {message}; is the model there, and the address right?")
    if code == "insufficient_quota":
        return AccessRefused(f"{named}: the account's quota is used up")
    if status in {408, 409, 425, 429} or status >= 500:
        return TransportFault(named, retry_after, "rate" if status == 429 else "server")
    if _TOO_LONG.search(f"{code} {message}"):
        return InputTooLong(f"{named}: the input is longer than the model's window")
    return RequestRejected(f"{named}: the provider rejects the request")


def token_count(value: object) -> int | None:
    """A provider's count of tokens, or none if it is no count."""
    return value if type(value) is int and 0 <= value <= _MOST_TOKENS else None


def field_of(value: object, *path: str | int) -> object:
    """What lies at a path in decoded JSON, or none if anything on the way is missing or of another type."""
    for step in path:
        if isinstance(step, str) and isinstance(value, dict):
            value = value.get(step)
        elif isinstance(step, int) and isinstance(value, list) and len(value) > step:
            value = value[step]
        else:
            return None
    return value
