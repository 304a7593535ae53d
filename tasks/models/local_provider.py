"""A small language model that runs on this machine, from packages alone, with no key."""

from __future__ import annotations

import secrets
import threading
from typing import Any

from memory.errors import BadInput
from memory.models import ChatRequest
from tasks.models.bounded_schema import bounded_schema
from tasks.models.calls import Payload
from tasks.models.local_server import LocalServer
from tasks.models.local_weights import checked_file
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import AccessRefused, ChatSettings, RawReply

REPLY_CAP = 384
"""Most tokens of a reply that the user has not capped: such a model may not find the end of one."""
# Of a request: on a busy machine the longest take two minutes, and giving one up only means to begin anew.
_SECONDS = 600.0


class LocalProvider(OpenAIProvider):
    """One chat model of a weight file, behind llama.cpp's server in this process, which the first request starts.

    The weights' hash is part of every payload: other weights under the same name are another call. Thread-safe.
    """

    alias = "local"

    def __init__(self, model: str, weights: str) -> None:
        """A provider of one of `tasks.models.local_weights.MODELS`, whose weights have this SHA-256."""
        # A key of its own, because other users of this machine reach the port, too.
        self._key = secrets.token_hex(16)
        super().__init__(self._key, proxied=False)
        self._model = model
        self._weights = weights
        self._starting = threading.Lock()
        self._server: LocalServer | None = None

    def payload(self, request: ChatRequest, settings: ChatSettings) -> Payload:
        """The body of the request, without the model, and the hash of the weights, which is not sent."""
        body: dict[str, Any] = {**super().payload(request, settings), "weights": self._weights}
        body.setdefault("max_tokens", REPLY_CAP)
        if request.reply is not None and settings.json_mode == "schema":
            named = {"name": request.task, "schema": bounded_schema(request.reply), "strict": True}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        return body

    def complete(self, model: str, payload: Payload, seconds: float) -> RawReply:
        """Ask for a chat completion, for at least ten minutes. See `ChatProvider.complete`."""
        self._serve()
        sent = {name: payload[name] for name in payload if name != "weights"}
        return super().complete(model, sent, max(seconds, _SECONDS))

    def close(self) -> None:
        """Stop the server; the next request starts another."""
        with self._starting:
            if self._server is not None:
                self._server.close()
                self._server = None

    def _serve(self) -> None:
        with self._starting:
            if self._server is not None:
                return
            try:
                self._server = LocalServer(checked_file(self._model, self._weights), self._model, self._key)
            except BadInput as fault:
                raise AccessRefused(str(fault)) from None
            self.client.base_url = f"{self._server.address}/v1"
