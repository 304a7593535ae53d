"""When a provider is not asked any more."""

from __future__ import annotations

import pytest

from memory.errors import CallRefused
from tasks.models.limits import Breaker
from tasks.models.providers import AccessRefused, RequestRejected, TransportFault, Trouble


class Time:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now


def too_often(retry_after: float | None = None) -> TransportFault:
    return TransportFault("HTTP 429", retry_after, "rate")


def opened(breaker: Breaker, alias: str = "openai") -> str:
    """Why a provider is not asked; empty if it is."""
    try:
        breaker.check(alias)
    except CallRefused as refusal:
        return str(refusal)
    return ""


@pytest.mark.parametrize("kind", ["server", "lost", "unreached", "rate"])
def test_it_opens_after_so_many_failed_calls_in_a_row(kind: Trouble) -> None:
    breaker = Breaker(3)
    fault = TransportFault("the fault", None, kind)
    for _ in range(2):
        breaker.failed("openai", fault)
    breaker.succeeded("openai")
    for _ in range(2):
        breaker.failed("openai", fault)
    assert opened(breaker) == ""
    breaker.failed("openai", fault)
    how = "limits our rate" if kind == "rate" else "is down"
    assert opened(breaker).startswith(f"openai {how}: 3 calls in a row failed, the last: the fault")
    assert opened(breaker, "ollama") == ""


def test_a_provider_that_rejects_a_request_is_not_down() -> None:
    breaker = Breaker(2)
    for _ in range(5):
        breaker.failed("openai", TransportFault("HTTP 503"))
        breaker.failed("openai", RequestRejected("HTTP 400"))
    assert opened(breaker) == ""


def test_refused_access_opens_it_at_once_with_the_first_reason() -> None:
    breaker = Breaker(8)
    breaker.failed("openai", AccessRefused("HTTP 401: no such key"))
    breaker.failed("openai", AccessRefused("HTTP 403"))
    assert opened(breaker) == "HTTP 401: no such key"


def test_it_opens_when_nothing_gets_through_for_as_long_as_its_patience() -> None:
    time = Time()
    breaker = Breaker(8, patience=300.0, clock=time.clock)
    for time.now in (0.0, 100.0, 299.0):
        breaker.tried("openai", too_often())
    assert opened(breaker) == ""
    time.now = 300.0
    breaker.tried("openai", too_often())
    assert opened(breaker).startswith(
        "openai let nothing through for 300 s: HTTP 429; start the run again later"
    )


def test_a_reply_in_between_starts_the_patience_anew() -> None:
    time = Time()
    breaker = Breaker(8, patience=300.0, clock=time.clock)
    breaker.tried("openai", too_often())
    time.now = 200.0
    breaker.succeeded("openai")
    time.now = 400.0
    breaker.tried("openai", too_often())
    time.now = 699.0
    breaker.tried("openai", too_often())
    assert opened(breaker) == ""


@pytest.mark.parametrize("asked", [301.0, float("inf")])
def test_it_opens_when_the_provider_asks_for_more_patience_than_it_has(asked: float) -> None:
    breaker = Breaker(8, patience=300.0)
    breaker.tried("openai", too_often(300.0))
    assert opened(breaker) == ""
    breaker.tried("openai", too_often(asked))
    assert opened(breaker).startswith(f"openai asks us to come back in {asked:.0f} s: HTTP 429")


def test_single_tries_that_met_other_faults_do_not_open_it() -> None:
    time = Time()
    breaker = Breaker(8, clock=time.clock)
    for time.now in (0.0, 1_000.0, 2_000.0):
        breaker.tried("openai", TransportFault("HTTP 503"))
    assert opened(breaker) == ""
