"""The offline models as a provider: no server, no key, no price, and the same gateway as for all others."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING

from memory.models import ChatRequest
from tasks.models.calls import Payload
from tasks.models.catalogue import STATIC
from tasks.models.providers import ChatSettings, EmbedSettings, RawReply, RawVectors

if TYPE_CHECKING:
    from tasks.models.offline.chat import OfflineChat
    from tasks.models.offline.minilm import MiniLM
    from tasks.models.offline.static import Static


class OfflineProvider:
    """Procedures and a small embedding model that run in this process.

    A chat model here reads a request's `task` and `inputs` alone, so these, with its version, make the call's
    id: a word in a prompt that no offline model reads changes nothing.
    """

    alias = "offline"
    local = True

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._chats: dict[str, OfflineChat] = {}
        self._minilm: MiniLM | None = None
        self._static: Static | None = None

    def payload(self, request: ChatRequest, settings: ChatSettings) -> Payload:
        """Task, inputs and the version of the procedure."""
        version = self._chat(settings.model).version
        return {"task": request.task, "inputs": dict(request.inputs), "version": version}

    def complete(self, model: str, payload: Payload, seconds: float) -> RawReply:
        """Run the procedure; it has no deadline, being short. See `ChatProvider.complete`."""
        text = self._chat(model).complete(payload["task"], payload["inputs"])
        return RawReply(text, "stop", model)

    def embed_payload(self, text: str, settings: EmbedSettings) -> Payload:
        """The text and the hashes of weights and vocabulary."""
        from tasks.models.offline import minilm, static

        if settings.model == STATIC:
            return {"input": text, "table": static.IDENTITY}
        return {"input": text, "weights": minilm.WEIGHTS, "vocabulary": minilm.VOCABULARY}

    def embed(self, texts: Sequence[str], settings: EmbedSettings, seconds: float) -> RawVectors:
        """Embed a batch; texts beyond the model's window are marked as cut. See `EmbedProvider.embed`."""
        if settings.model == STATIC:
            return RawVectors(list(self._static_embedder().embed(texts)), settings.model)
        model = self._embedder()
        cut = frozenset(row for row, longer in enumerate(model.cut(texts)) if longer)
        return RawVectors(list(model.embed(texts)), settings.model, cut=cut)

    def _chat(self, model: str) -> OfflineChat:
        from tasks.models.offline.chat import OfflineChat

        with self._guard:
            if model not in self._chats:
                self._chats[model] = OfflineChat(model)
            return self._chats[model]

    def _embedder(self) -> MiniLM:
        from tasks.models.offline.minilm import MiniLM

        with self._guard:
            if self._minilm is None:
                self._minilm = MiniLM()
            return self._minilm

    def _static_embedder(self) -> Static:
        from tasks.models.offline.static import Static

        with self._guard:
            if self._static is None:
                self._static = Static()
            return self._static
