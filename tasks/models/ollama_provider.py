"""Models served by Ollama."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import httpx
import ollama
from pydantic import ValidationError

from memory.errors import BadInput
from memory.models import ChatRequest
from memory.tokens import count, sendable
from tasks.models.calls import Payload
from tasks.models.deadlines import CHAT_BYTES, Deadline, ReplyTooLong, embedding_bytes, hooks
from tasks.models.keys import held, in_address
from tasks.models.providers import (
    OVERLONG,
    AccessRefused,
    ChatSettings,
    EmbedSettings,
    ProviderFault,
    RawReply,
    RawVectors,
    RequestRejected,
    TransportFault,
    one_line,
    status_fault,
    text_of,
    token_count,
)
from tasks.models.retries import retry_after
from tasks.models.schemas import plain_schema

T = TypeVar("T")


class OllamaProvider:
    """Chat and embedding models of an Ollama server. Thread-safe; holds one client."""

    alias = "ollama"
    local = False

    def __init__(self, host: str | None = None) -> None:
        """A provider at a host; none is Ollama's default, port 11434 on this machine.

        Raises:
            BadInput: If the host is not an address.
        """
        # Among those held: the client sends OLLAMA_API_KEY of its own accord if it is set.
        self._secrets = (*in_address(host or ""), *held())
        self._deadline = Deadline()
        self._reached = False
        try:
            self._client = ollama.Client(host, timeout=120.0, event_hooks=hooks(httpx, self._deadline))
        except (ValueError, httpx.InvalidURL) as error:
            raise BadInput(
                f"OLLAMA_HOST is not an address ({type(error).__name__}): give http://host:port"
            ) from None

    def payload(self, request: ChatRequest, settings: ChatSettings) -> Payload:
        """The body of the request, without the model."""
        system, user = sendable(request.system), sendable(request.user)
        cap = settings.cap(request)
        options: dict[str, Any] = {
            "temperature": settings.temperature,
            "num_ctx": _window(count(system) + count(user) + (cap or 0)),
        }
        if cap is not None:
            options["num_predict"] = cap
        body: dict[str, Any] = {
            "messages": [
                {"role": "system", "content": system},
                {"role": "user", "content": user},
            ],
            "options": options,
        }
        if request.reply is not None:
            body["format"] = plain_schema(request.reply) if settings.json_mode == "schema" else "json"
        return body

    def complete(self, model: str, payload: Payload, seconds: float) -> RawReply:
        """Ask for a chat completion; see `ChatProvider.complete`."""
        try:
            reply = self._send(
                lambda: self._client.chat(model=model, stream=False, **payload), seconds, CHAT_BYTES
            )
        except ReplyTooLong:
            return OVERLONG
        return RawReply(
            text=text_of(reply.message.content, self._secrets),
            finish_reason=one_line(reply.done_reason or "unknown", self._secrets),
            model=one_line(reply.model or "", self._secrets),
            prompt_tokens=token_count(reply.prompt_eval_count),
            completion_tokens=token_count(reply.eval_count),
        )

    def embed_payload(self, text: str, settings: EmbedSettings) -> Payload:
        """The input alone: Ollama has no parameter that we set."""
        return {"input": text}

    def embed(self, texts: Sequence[str], settings: EmbedSettings, seconds: float) -> RawVectors:
        """Embed a batch; the server must not cut an over-long input. See `EmbedProvider.embed`."""
        try:
            reply = self._send(
                lambda: self._client.embed(model=settings.model, input=list(texts), truncate=False),
                seconds,
                embedding_bytes(len(texts), settings.dimensions),
            )
        except ReplyTooLong:
            return RawVectors([[] for _ in texts], "")
        model = one_line(reply.model or "", self._secrets)
        # Its vectors have no numbers: where they are too few or too many, none can be told to be a text's own.
        rows = reply.embeddings if len(reply.embeddings) == len(texts) else [[] for _ in texts]
        return RawVectors(rows, model, token_count(reply.prompt_eval_count))

    def _send(self, send: Callable[[], T], seconds: float, most: int) -> T:
        # `from None`: the library's own errors may quote headers and bodies.
        try:
            with self._deadline.within(seconds, most):
                reply = send()
            self._reached = True
            return reply
        except ollama.ResponseError as error:
            self._reached = True
            raise self._fault(error) from None
        except ReplyTooLong:
            self._reached = True
            self._raise_status()
            raise
        except httpx.TimeoutException:
            raise TransportFault("no reply in time", kind="lost") from None
        except ConnectionError:
            if not self._reached:
                raise AccessRefused("ollama: nothing answers; is it running? (OLLAMA_HOST)") from None
            raise TransportFault("connection failed", kind="unreached") from None
        except httpx.HTTPError as error:
            raise TransportFault(f"connection failed ({type(error).__name__})", kind="lost") from None
        except ValidationError as error:
            if all(fault["loc"][0] == "embeddings" and len(fault["loc"]) > 1 for fault in error.errors()):
                # One text's vector hides the others in its batch: rejected, each is asked for by itself.
                raise RequestRejected("the vector holds something that is no number") from None
            raise TransportFault("the reply is not readable (another shape)", kind="lost") from None
        except (ValueError, TypeError, AttributeError, RecursionError) as error:  # JSON, but no object
            self._raise_status()
            raise TransportFault(f"the reply is not readable ({type(error).__name__})", kind="lost") from None

    def _raise_status(self) -> None:
        """Raise the fault that the last response's status stands for, if it is an error's."""
        if self._deadline.status >= 400:
            raise self._fault(ollama.ResponseError("", self._deadline.status)) from None

    def _fault(self, error: ollama.ResponseError) -> ProviderFault:
        said = one_line(error.error, self._secrets)
        if error.status_code >= 500 and "NaN" in said:
            # Ordinary sentences can do this to a model on a GPU; the same request brings the same NaN.
            return RequestRejected(f"HTTP {error.status_code}: the model computed NaN")
        fault = status_fault(error.status_code, said, None, retry_after(self._deadline.headers))
        if isinstance(fault, AccessRefused):
            return AccessRefused(f"{self.alias}: {fault.reason} (OLLAMA_HOST; `ollama pull MODEL`)")
        return fault


def _window(tokens: int) -> int:
    """A context window for a request of so many tokens by our estimate.

    Ollama cuts a longer prompt without a word, and its default window is small. Few sizes, because it loads
    the model anew for another one.
    """
    window = 8192
    while window < 1.3 * tokens + 2048:
        window *= 2
    return window
