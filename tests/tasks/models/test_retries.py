"""How long the gateway waits, and when it gives up."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memory.errors import CallRefused
from tasks.models.providers import RequestRejected, TransportFault, Trouble
from tasks.models.retries import Patience, persist, retry_after


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds

    def clock(self) -> float:
        return self.now


@settings(deadline=None)
@given(st.floats(1, 200), st.integers(0, 12), st.floats(0, 1), st.none() | st.floats(0, 50))
def test_no_call_outlives_its_deadline_or_its_retries(
    deadline: float, retries: int, jitter: float, asked: float | None
) -> None:
    time = Time()
    patience = Patience(deadline, retries, sleep=time.sleep, clock=time.clock, jitter=lambda: jitter)
    tries: list[float] = []

    def ask(seconds: float) -> str:
        tries.append(seconds)
        raise TransportFault("HTTP 503", asked)

    with pytest.raises(TransportFault) as fault:
        persist(ask, patience)
    assert time.now < deadline
    assert len(tries) <= retries + 1
    assert fault.value.retries == len(tries) - 1
    assert all(seconds > 0 for seconds in tries)


BOUNDS: list[tuple[Trouble, int]] = [("server", 8), ("lost", 2), ("unreached", 5), ("rate", 40)]


@pytest.mark.parametrize(("kind", "retries"), BOUNDS)
def test_each_kind_of_fault_has_its_own_bound(kind: Trouble, retries: int) -> None:
    tries = []

    def ask(seconds: float) -> str:
        tries.append(seconds)
        raise TransportFault("gone", None, kind)

    with pytest.raises(TransportFault) as fault:
        persist(ask, Patience(deadline=1e9, sleep=lambda seconds: None))
    assert (len(tries), fault.value.retries) == (retries + 1, retries)


def test_a_lost_request_counts_for_itself_among_other_faults() -> None:
    kinds: list[Trouble] = ["lost", "rate", "lost", "server", "lost"]
    tries: list[float] = []

    def ask(seconds: float) -> str:
        tries.append(seconds)
        raise TransportFault("gone", None, kinds[len(tries) - 1])

    with pytest.raises(TransportFault):
        persist(ask, Patience(deadline=1e9, sleep=lambda seconds: None))
    assert len(tries) == 5


def test_waiting_to_be_admitted_is_off_the_clock() -> None:
    time = Time()
    left: list[float] = []

    @contextmanager
    def admit() -> Iterator[None]:
        time.now += 1_000.0
        yield

    def ask(seconds: float) -> str:
        left.append(seconds)
        time.now += 10.0
        if len(left) < 3:
            raise TransportFault("HTTP 503", 5.0)
        return "fine"

    patience = Patience(60.0, sleep=time.sleep, clock=time.clock, jitter=lambda: 0.0)
    assert persist(ask, patience, admit) == ("fine", 2)
    assert left == [60.0, 45.0, 30.0]


def test_each_try_is_admitted_anew_and_its_fault_passes_through() -> None:
    seen: list[str] = []

    @contextmanager
    def admit() -> Iterator[None]:
        try:
            yield
        except TransportFault as fault:
            seen.append(fault.reason)
            raise
        seen.append("answered")

    faults = ["HTTP 503", "HTTP 429"]

    def ask(seconds: float) -> str:
        if faults:
            raise TransportFault(faults.pop(0))
        return "fine"

    persist(ask, Patience(sleep=lambda seconds: None), admit)
    assert seen == ["HTTP 503", "HTTP 429", "answered"]


def test_who_is_not_admitted_is_not_tried_again() -> None:
    def admit() -> AbstractContextManager[None]:
        raise CallRefused("the run is being stopped")

    def ask(seconds: float) -> str:
        raise AssertionError("it was asked")

    with pytest.raises(CallRefused):
        persist(ask, Patience(), admit)


def test_a_wait_longer_than_what_is_left_is_not_begun() -> None:
    time = Time()

    def ask(seconds: float) -> str:
        raise TransportFault("HTTP 429", 120.0, "rate")

    with pytest.raises(TransportFault):
        persist(ask, Patience(120.0, sleep=time.sleep, clock=time.clock))
    assert time.now == 0.0


def test_waits_double_up_to_the_longest() -> None:
    patience = Patience(first_wait=1, longest_wait=5, jitter=lambda: 1.0)
    assert [patience.wait(retry, None) for retry in range(5)] == [1, 2, 4, 5, 5]
    assert Patience(jitter=lambda: 0.0).wait(0, 30.0) == 30.0


def test_a_rejected_request_is_not_tried_again() -> None:
    tries = []

    def ask(seconds: float) -> str:
        tries.append(seconds)
        raise RequestRejected("HTTP 400")

    with pytest.raises(RequestRejected):
        persist(ask, Patience(sleep=tries.append))
    assert len(tries) == 1


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("7", 7.0), ("0.5", 0.5), ("-3", 0.0), ("", None), ("soon", None), ("nan", 0.0)],
)
def test_retry_after_in_seconds(value: str, seconds: float | None) -> None:
    assert retry_after({"retry-after": value}) == seconds


def test_retry_after_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    wait = retry_after({"retry-after": later})
    assert wait is not None
    assert 50 < wait <= 60
    assert retry_after({"retry-after": "Wed, 21 Oct 2015 07:28:00 GMT"}) == 0.0
    assert retry_after({}) is None
