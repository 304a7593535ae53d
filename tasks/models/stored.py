"""Models that replay what was bought and buy nothing: for stages that look again at a run that is paid for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from memory.errors import CallFailed
from memory.models import ChatRequest, Embedded, Reply, Vectors
from tasks.models.chat import GatewayChat
from tasks.models.embedding import GatewayEmbedder

T = TypeVar("T")
NOT_BOUGHT = "not bought, and this stage buys nothing"


class StoredChat:
    """A `memory.models.ChatModel` that has the replies of another one's store, and no others."""

    def __init__(self, chat: GatewayChat) -> None:
        self._chat = chat

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._chat.name

    def ask(self, request: ChatRequest, read: Callable[[str], T]) -> Reply[T]:
        """Replay the reply.

        Raises:
            CallFailed: If there is none, or none that can be used.
        """
        if self._chat.missing(request, read) is not None:
            raise CallFailed(f"reply to {request.task}: {NOT_BOUGHT}", final=True)
        return self._chat.ask(request, read)

    def ask_many(
        self, requests: Sequence[ChatRequest], read: Callable[[str], T]
    ) -> list[Reply[T] | CallFailed]:
        """Replay the replies, each as `ask` does."""
        replies: list[Reply[T] | CallFailed] = []
        for request in requests:
            try:
                replies.append(self.ask(request, read))
            except CallFailed as failed:
                replies.append(failed)
        return replies


class StoredEmbedder:
    """A `memory.models.Embedder` that has the vectors of another one's store, and keeps those that it has read."""

    def __init__(self, embedder: GatewayEmbedder) -> None:
        self._embedder = embedder
        self._read: dict[str, Vectors] = {}

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._embedder.name

    @property
    def dimensions(self) -> int:
        """Length of a vector."""
        return self._embedder.dimensions

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Replay the vectors; only a blank text has none.

        Raises:
            CallFailed: If one is not there.
        """
        new = list(dict.fromkeys(text for text in texts if text.strip() and text not in self._read))
        found, missing = self._embedder.stored(new)
        if missing:
            raise CallFailed(f"vectors of {missing:,} texts: {NOT_BOUGHT}", final=True)
        self._read.update(zip(new, found, strict=True))
        blank = {row: "blank text" for row, text in enumerate(texts) if not text.strip()}
        nothing = np.zeros(self.dimensions, np.float32)
        rows = [self._read.get(text, nothing) for text in texts]
        return Embedded(np.stack(rows) if rows else np.zeros((0, self.dimensions), np.float32), blank)
