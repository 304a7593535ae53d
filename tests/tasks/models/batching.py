"""A chat model with its requests, and the buyer that may buy them in batches, over real HTTP to the fake server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from memory.errors import CallFailed
from memory.models import ChatRequest, Reply
from tasks.models.batch import BatchBuyer, Polling
from tasks.models.chat import GatewayChat, Missing
from tasks.models.gateway import Gateway, Place
from tasks.models.openai_batches import OpenAIBatches
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.providers import ChatSettings
from tests.tasks.models import fakes
from tests.tasks.models.fakes import FakeServer

KEY = "sk-planted-0123456789"


class Killed(BaseException):
    """What ends a process in these tests."""


class Asker:
    """A chat model with its requests, and the buyer that may buy them in batches."""

    def __init__(
        self, server: FakeServer, gateway: Gateway, waits: list[float], model: str = "gpt-4o-mini"
    ) -> None:
        provider = OpenAIProvider(KEY, server.openai)
        self.gateway = gateway
        self.chat = GatewayChat(gateway, provider, ChatSettings(model), Place("answer"))
        self.told: list[str] = []
        polling = Polling(sleep=waits.append, clock=lambda: 1000.0)
        self.buyer = BatchBuyer(gateway, OpenAIBatches(provider), polling, self.told.append)

    def missing(self, numbers: Sequence[int], read: Callable[[str], object] = str) -> dict[str, Missing]:
        found = [self.chat.missing(question(number), read) for number in numbers]
        return {missing.call.id: missing for missing in found if missing is not None}

    def buy(self, numbers: Sequence[int], read: Callable[[str], object] = str) -> None:
        self.buyer.buy(lambda: self.missing(numbers, read))

    def ask(self, numbers: Sequence[int], read: Callable[[str], Any] = str) -> list[Reply[Any] | CallFailed]:
        return self.chat.ask_many([question(number) for number in numbers], read)

    def calls(self) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.gateway.ledger.rows("run").to_pylist()
        return rows

    def outcomes(self) -> Counter[str]:
        return Counter(row["outcome"] for row in self.calls())


def question(number: int) -> ChatRequest:
    return ChatRequest("answer", "Answer.", f"question {number}")


def number_of(request: fakes.Request) -> int:
    return int(request.user.split()[-1])


def dying(asker: Asker, after: int = 0) -> Asker:
    """The asker, whose process ends in one of the waits for a batch."""
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) > after:
            raise Killed

    asker.buyer._polling = Polling(sleep=sleep, clock=lambda: 1000.0)
    return asker


AskerOf = Callable[..., Asker]
"""Makes an asker on a gateway of its own; see the fixture `batching`."""
