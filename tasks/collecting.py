"""The calls of a whole stage, collected before its works are performed, and bought in few large batches.

A work is made once with chat models that buy nothing and note what they are asked; what it makes is thrown away. What
its requests miss in the store is bought through the provider's batch interface, and again for replies that are of no
use, within the usual re-asks. Then the works are performed as always, and find everything there; what a batch could
not bring is asked live. Vectors are bought live throughout.

It serves all requests whose wording does not depend on other replies of the same work. A memory that asks a model
while it remembers asks for all but its first replies live.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TypeVar

from memory.errors import CallFailed
from memory.models import ChatModel, ChatRequest, Reply
from tasks.models.batch import BatchBuyer, Polling
from tasks.models.bundles import batches_of
from tasks.models.catalogue import BATCHING
from tasks.models.chat import GatewayChat, Missing
from tasks.progress import PROGRESS
from tasks.stage import Artefact, Stage, Work, existing

T = TypeVar("T")
Execute = Callable[[Stage, Sequence[Work]], list[Artefact]]

POLLING = Polling()


@dataclass(frozen=True, slots=True)
class Asked:
    """A request, whom it was put to, and how its reply would be read."""

    chat: GatewayChat
    request: ChatRequest
    read: Callable[[str], object]


_notes: ContextVar[list[Asked] | None] = ContextVar("notes", default=None)


class Noting:
    """A `memory.models.ChatModel` that notes what it is asked, and has no reply to anything."""

    def __init__(self, chat: GatewayChat, notes: list[Asked]) -> None:
        self._chat = chat
        self._notes = notes

    @property
    def name(self) -> str:
        """`provider:model`."""
        return self._chat.name

    def ask(self, request: ChatRequest, read: Callable[[str], T]) -> Reply[T]:
        """Note the request.

        Raises:
            CallFailed: Always.
        """
        self._notes.append(Asked(self._chat, request, read))
        raise CallFailed("noted, to be bought in a batch", final=False)

    def ask_many(
        self, requests: Sequence[ChatRequest], read: Callable[[str], T]
    ) -> list[Reply[T] | CallFailed]:
        """Note the requests."""
        self._notes.extend(Asked(self._chat, request, read) for request in requests)
        return [CallFailed("noted, to be bought in a batch", final=False) for _ in requests]


def noting(chat: GatewayChat) -> ChatModel:
    """The chat model itself, or one that only notes, where a work's calls are being collected."""
    notes = _notes.get()
    return chat if notes is None else Noting(chat, notes)


def in_batches(execute: Execute) -> Execute:
    """Performs works as `execute` does, after their missing calls have been bought in batches."""

    def bought_first(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        _buy(collected(stage, works))
        return execute(stage, works)

    return bought_first


def collected(stage: Stage, works: Sequence[Work]) -> list[Asked]:
    """What the works that are still to be done will ask of models that can be asked in batches."""
    notes: list[Asked] = []
    token = _notes.set(notes)
    try:
        for work in works:
            if _asks_in_batches(work) and existing(work) is None:
                with suppress(CallFailed):  # met again, and reported, when the work is performed
                    stage.make(work)
    finally:
        _notes.reset(token)
    return notes


def _asks_in_batches(work: Work) -> bool:
    models = work.params.get("models", {})
    return any(role != "embedder" and _alias(models[role]["name"]) in BATCHING for role in models)


def _alias(name: str) -> str:
    return name.partition(":")[0]


def _buy(notes: list[Asked]) -> None:
    for alias in BATCHING:
        asked = [note for note in notes if _alias(note.chat.name) == alias]
        if asked:
            buyer = BatchBuyer(asked[0].chat.gateway, batches_of(alias), POLLING, PROGRESS.wait_for)
            buyer.buy(_Missing(asked))


class _Missing:
    """What is missing of noted requests: looked up in the store at each call, and never again once it is there."""

    def __init__(self, asked: list[Asked]) -> None:
        self._asked = asked

    def __call__(self) -> dict[str, Missing]:
        found = [(asked, asked.chat.missing(asked.request, asked.read)) for asked in self._asked]
        self._asked = [asked for asked, missing in found if missing is not None]
        return {missing.call.id: missing for _, missing in found if missing is not None}
