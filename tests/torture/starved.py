"""What a starved study may have been billed, by the fake provider's own books."""

from __future__ import annotations

from collections.abc import Iterable

from tests.flows.fake_llm import reply
from tests.tasks.models.fakes import FakeServer
from tests.torture.injector import Given


def billed(server: FakeServer) -> int:
    """Tokens of all replies that were written whole."""
    return sum(sum(server.usage(request, answer)[:2]) for request, answer in server.answered)


def billed_at_worst(server: FakeServer, given: Iterable[Given]) -> int:
    """Tokens of all good replies, of those too that were lost on their way."""
    paid = (each.request for each in given if each.ending != "refused")
    return sum(sum(server.usage(request, reply(request))[:2]) for request in paid)
