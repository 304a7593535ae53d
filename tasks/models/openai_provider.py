"""OpenAI, and whatever speaks its protocol at another address."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

import httpx2
import openai

from memory.errors import BadInput
from memory.models import ChatRequest
from memory.tokens import sendable
from tasks.models.calls import Payload
from tasks.models.deadlines import (
    CHAT_BYTES,
    FILE_BYTES,
    Deadline,
    ReplyTooLong,
    embedding_bytes,
    hooks,
)
from tasks.models.keys import held, in_address
from tasks.models.providers import (
    OVERLONG,
    AccessRefused,
    ChatSettings,
    EmbedSettings,
    ProviderFault,
    RawReply,
    RawVectors,
    TransportFault,
    Trouble,
    field_of,
    one_line,
    status_fault,
    text_of,
    token_count,
)
from tasks.models.retries import retry_after
from tasks.models.schemas import plain_schema, strict_schema

# Models of these dimensions are OpenAI's own whose vectors can be asked for shorter; others reject the
# parameter.
_SHORTENABLE = {"text-embedding-3-small": 1536, "text-embedding-3-large": 3072}


class OpenAIProvider:
    """Chat and embedding models behind an OpenAI-compatible address. Thread-safe; holds one client."""

    alias = "openai"
    local = False

    def __init__(self, api_key: str, base_url: str | None = None, *, proxied: bool = True) -> None:
        """A provider at an address; none is OpenAI's own. `proxied`: by the proxy that the environment names, if any.

        Raises:
            BadInput: If the address is none.
        """
        if base_url is not None and not base_url.startswith(("http://", "https://")):
            raise BadInput("OPENAI_BASE_URL is not an address: give https://host/v1")
        self._reached = False
        self._secrets = (api_key, *in_address(base_url or ""), *held())
        self._deadline = Deadline()
        self.client = openai.OpenAI(
            api_key=api_key,
            base_url=base_url,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(
                event_hooks=hooks(httpx2, self._deadline), trust_env=proxied
            ),
        )

    def payload(self, request: ChatRequest, settings: ChatSettings) -> Payload:
        """The body of the request, without the model."""
        body: dict[str, Any] = {
            "messages": [
                {"role": "system", "content": sendable(request.system)},
                {"role": "user", "content": sendable(request.user)},
            ],
            "temperature": settings.temperature,
        }
        cap = settings.cap(request)
        if cap is not None:
            body["max_tokens"] = cap
        if request.reply is not None:
            body["response_format"] = {"type": "json_object"}
            if settings.json_mode == "schema":
                strict = strict_schema(request.reply)
                schema = strict or plain_schema(request.reply)
                named = {"name": request.task, "schema": schema, "strict": strict is not None}
                body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def complete(self, model: str, payload: Payload, seconds: float) -> RawReply:
        """Ask for a chat completion; see `ChatProvider.complete`."""
        create = self.client.chat.completions.with_raw_response.create
        try:
            return self.reply_of(self._send(lambda: create(model=model, **payload), seconds, CHAT_BYTES))
        except ReplyTooLong:
            return OVERLONG

    def reply_of(self, body: object) -> RawReply:
        """The reply that the body of a chat completion holds, whichever way it came.

        Raises:
            TransportFault: If it holds none.
        """
        choice = field_of(body, "choices", 0)
        if field_of(choice, "message") is None:
            raise TransportFault("the reply has no choices", kind="lost")
        usage = field_of(body, "usage")
        finish, refusal = field_of(choice, "finish_reason"), field_of(choice, "message", "refusal")
        return RawReply(
            text=text_of(field_of(choice, "message", "content"), self._secrets),
            finish_reason=one_line("unknown" if finish in (None, "") else finish, self._secrets),
            model=one_line(field_of(body, "model") or "", self._secrets),
            refusal=one_line(refusal, self._secrets) if refusal else None,
            prompt_tokens=token_count(field_of(usage, "prompt_tokens")),
            completion_tokens=token_count(field_of(usage, "completion_tokens")),
            cached_tokens=token_count(field_of(usage, "prompt_tokens_details", "cached_tokens")),
            request_id=one_line(field_of(body, "id") or "", self._secrets) or None,
        )

    def embed_payload(self, text: str, settings: EmbedSettings) -> Payload:
        """The input, and the length of its vector where that is a parameter."""
        return {"input": text, **self._shortened(settings)}

    def embed(self, texts: Sequence[str], settings: EmbedSettings, seconds: float) -> RawVectors:
        """Embed a batch; see `EmbedProvider.embed`."""
        create = self.client.embeddings.with_raw_response.create
        # Asked for as plain numbers: the client's default, base64, is not known to every compatible server.
        parameters: dict[str, Any] = {
            "input": list(texts),
            "encoding_format": "float",
            **self._shortened(settings),
        }
        rows: list[list[float]] = [[] for _ in texts]
        try:
            body = self._send(
                lambda: create(model=settings.model, **parameters),
                seconds,
                embedding_bytes(len(texts), settings.dimensions),
            )
        except ReplyTooLong:
            return RawVectors(rows, "")
        data = field_of(body, "data")
        for item in data if isinstance(data, list) else []:
            index, row = field_of(item, "index"), field_of(item, "embedding")
            if isinstance(index, int) and 0 <= index < len(rows) and isinstance(row, list):
                rows[index] = row
        return RawVectors(
            rows,
            one_line(field_of(body, "model") or "", self._secrets),
            token_count(field_of(body, "usage", "prompt_tokens")),
        )

    def _shortened(self, settings: EmbedSettings) -> dict[str, int]:
        full = _SHORTENABLE.get(settings.model, settings.dimensions)
        return {} if settings.dimensions == full else {"dimensions": settings.dimensions}

    def shown(self, text: str) -> str:
        """A word of the provider's as it may be shown: on one line, and without keys."""
        return one_line(text, self._secrets)

    def fault_of(
        self, status: int, error: object, message: str = "", wait: float | None = None
    ) -> ProviderFault:
        """The fault that an HTTP status and the `error` of its body stand for; `message` where that has none."""
        shown = one_line(field_of(error, "message") or message, self._secrets)
        code = field_of(error, "code")
        named = one_line(code, self._secrets, 60) if code else None
        fault = status_fault(status, shown, named, wait)
        if isinstance(fault, AccessRefused):
            return AccessRefused(f"{self.alias}: {fault.reason} (OPENAI_API_KEY, OPENAI_BASE_URL)")
        return fault

    def _send(self, send: Callable[[], Any], seconds: float, most: int) -> object:
        content = self.exchange(send, seconds, most)
        try:
            return json.loads(content)
        except (ValueError, RecursionError) as error:
            raise TransportFault(f"the reply is not readable ({type(error).__name__})", kind="lost") from None

    def exchange(self, send: Callable[[], Any], seconds: float, most: int = FILE_BYTES) -> bytes:
        """The content of the raw response that `send` gets, in at most so many seconds and bytes.

        Raises:
            ProviderFault: If there is none; see its kinds.
            ReplyTooLong: If it has more bytes.
        """
        # `from None`: the library's own errors may quote headers and bodies.
        try:
            with self._deadline.within(seconds, most):
                raw = send()
            self._reached = True
            return bytes(raw.http_response.content)
        except openai.APIStatusError as error:
            self._reached = True
            wait = retry_after(error.response.headers)
            raise self.fault_of(error.status_code, error.body, error.message, wait) from None
        except ReplyTooLong:
            raise self._given_up() from None
        except openai.APITimeoutError:
            raise TransportFault("no reply in time", kind="lost") from None
        except openai.APIConnectionError as error:
            if isinstance(error.__cause__, ReplyTooLong):
                raise self._given_up() from None
            if isinstance(error.__cause__, httpx2.ConnectError) and not self._reached:
                raise AccessRefused("openai: nothing answers at the address (OPENAI_BASE_URL)") from None
            never_sent = isinstance(error.__cause__, httpx2.ConnectError)
            kind: Trouble = "unreached" if never_sent else "lost"
            raise TransportFault(f"connection failed ({type(error.__cause__).__name__})", kind=kind) from None
        except (ValueError, openai.APIError, httpx2.HTTPError) as error:
            raise TransportFault(f"the reply is not readable ({type(error).__name__})", kind="lost") from None

    def _given_up(self) -> Exception:
        """What a body without end stands for: its status, if that is an error's."""
        self._reached = True
        status = self._deadline.status
        return self.fault_of(status, None) if status >= 400 else ReplyTooLong()
