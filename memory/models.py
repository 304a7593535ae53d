"""How the memory core reaches models: two small protocols, and what passes through them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

from memory.errors import CallFailed

Vectors = npt.NDArray[np.float32]
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One request to a chat model.

    A provider that talks to a language model sends `system` and `user`. An offline provider, which is no language
    model, works on `inputs` alone. The call's id is the hash of what its provider consumes.

    Attributes:
        task: `extract`, `query_entities`, `answer` or `judge`: which offline procedure answers, and the ledger's label.
        system: The instructions.
        user: The rendered input.
        inputs: The fields that `user` was rendered from.
        reply: The shape of a JSON reply, asked for where the provider can; none for plain text.
        max_tokens: Cap on the reply; none leaves it to the provider, as the published study did.
    """

    task: str
    system: str
    user: str
    inputs: Mapping[str, str] = field(default_factory=dict)
    reply: type[BaseModel] | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Reply(Generic[T]):
    """A usable reply.

    Attributes:
        value: What the reader made of the text.
        text: The reply, verbatim.
        call_id: Key of the call in the store and the ledger.
        attempt: Zero for the first ask.
        replayed: Whether it was bought earlier.
        model: The model that the provider says has answered.
    """

    value: T
    text: str
    call_id: str
    attempt: int
    replayed: bool
    model: str


class ChatModel(Protocol):
    """A chat model behind the gateway."""

    @property
    def name(self) -> str:
        """`provider:model`, as tables show it."""

    def ask(self, request: ChatRequest, read: Callable[[str], T]) -> Reply[T]:
        """Ask once, and again (bounded) while `read` raises ValueError on the reply.

        Raises:
            CallFailed: If there is no usable reply.
            CallRefused: If the run may make no further call.
        """

    def ask_many(
        self, requests: Sequence[ChatRequest], read: Callable[[str], T]
    ) -> list[Reply[T] | CallFailed]:
        """Ask concurrently; results in the order of the requests, failures in their places.

        Raises:
            CallRefused: If the run may make no further call.
        """


@dataclass(frozen=True, slots=True)
class Embedded:
    """Vectors for a list of texts.

    Attributes:
        vectors: `(texts, dimensions)`, rows of unit length; rows named in `failures` are zero and must not be stored.
        failures: Reason by row for texts that have no vector.
    """

    vectors: Vectors
    failures: Mapping[int, str] = field(default_factory=dict)


class Embedder(Protocol):
    """An embedding model behind the gateway."""

    @property
    def name(self) -> str:
        """`provider:model`, as tables show it."""

    @property
    def dimensions(self) -> int:
        """Length of a vector."""

    def embed(self, texts: Sequence[str]) -> Embedded:
        """Embed texts; equal texts are embedded once. Blank texts are failures and are never sent.

        Raises:
            CallFailed: If a text met a fault of transport, which the next run tries again.
            CallRefused: If the run may make no further call.
        """
