"""Turns of many threads, and a gateway that asks a server as fast as that can bear, over real HTTP."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from memory.errors import CallFailed, CallRefused
from memory.models import ChatRequest, Reply
from tasks.models.chat import GatewayChat
from tasks.models.gateway import Gateway, Place
from tasks.models.ledger import Ledger
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.pace import Ceilings, Pace, PaceEvent
from tasks.models.providers import ChatSettings, RequestRejected, TransportFault
from tasks.models.retries import Patience
from tests.tasks.models import fakes
from tests.tasks.models.fakes import Answer, FakeServer, Request


class Time:
    """A clock that tests move."""

    def __init__(self) -> None:
        self.now = 0.0

    def clock(self) -> float:
        return self.now


@pytest.fixture
def events() -> list[PaceEvent]:
    return []


def in_line(
    pace: Pace, then: Callable[[], None], stopped: Callable[[], None] = lambda: None
) -> threading.Thread:
    """A thread that waits for a turn, and takes its place in the line before this returns."""
    there = threading.Event()

    def look() -> None:
        there.set()
        stopped()

    def wait() -> None:
        with pace.turn(1, look):
            then()

    thread = threading.Thread(target=wait)
    thread.start()
    assert there.wait(300)
    return thread


def test_turns_are_given_first_come_first_served(events: list[PaceEvent]) -> None:
    pace = Pace("openai", Ceilings(max_concurrency=1), events.append)
    served: list[int] = []
    with pace.turn(1):
        threads = [in_line(pace, lambda place=place: served.append(place)) for place in range(5)]  # type: ignore[misc]
        assert served == []
    for thread in threads:
        thread.join()
    assert served == [0, 1, 2, 3, 4]


def test_never_more_threads_than_the_limit_are_inside(events: list[PaceEvent]) -> None:
    pace = Pace("openai", Ceilings(max_concurrency=5), events.append)
    guard = threading.Lock()
    inside: list[int] = []
    most: list[int] = []

    def work(number: int) -> None:
        with pace.turn(1):
            with guard:
                inside.append(number)
                most.append(len(inside))
            with guard:
                inside.remove(number)

    with ThreadPoolExecutor(32) as threads:
        list(threads.map(work, range(400)))
    assert len(most) == 400
    assert max(most) <= 5


def test_whoever_is_stopped_while_waiting_leaves_the_line_to_the_others(events: list[PaceEvent]) -> None:
    pace = Pace("openai", Ceilings(max_concurrency=1), events.append)
    served: list[str] = []
    caught: list[str] = []
    closing = threading.Event()

    def stopped() -> None:
        if closing.is_set():
            raise CallRefused("the run is being stopped")

    def waits_in_vain() -> None:
        try:
            with pace.turn(1, stopped):
                served.append("first")
        except CallRefused as refusal:
            caught.append(str(refusal))

    with pace.turn(1):
        first = threading.Thread(target=waits_in_vain)
        first.start()
        second = in_line(pace, lambda: served.append("second"))
        closing.set()
        first.join()
        assert caught == ["the run is being stopped"]
    second.join()
    assert served == ["second"]


def test_a_ceiling_a_minute_is_kept_by_the_clock(events: list[PaceEvent]) -> None:
    time = Time()
    pace = Pace("openai", Ceilings(max_concurrency=4, rpm=1), events.append, time.clock)
    looked = threading.Semaphore(0)
    served: list[float] = []
    with pace.turn(1):
        pass
    thread = in_line(pace, lambda: served.append(time.now), looked.release)
    time.now = 59.9
    for _ in range(3):  # it looks at the clock again and again
        assert looked.acquire(timeout=300)
    assert served == []
    time.now = 60.0
    thread.join()
    assert served == [60.0]


def test_every_change_is_told_with_its_reason(events: list[PaceEvent]) -> None:
    time = Time()
    pace = Pace("openai", Ceilings(max_concurrency=3), events.append, time.clock)
    with pace.turn(1), pace.turn(1):
        pass
    with pytest.raises(TransportFault), pace.turn(1):
        raise TransportFault("HTTP 503")
    with pytest.raises(RequestRejected), pace.turn(1):
        raise RequestRejected("HTTP 400")
    with pytest.raises(TransportFault), pace.turn(1):
        raise TransportFault("HTTP 429", 7.0, "rate")
    told = [(event.provider, event.event, event.limit, event.reason) for event in events]
    assert told == [
        ("openai", "started", 2, None),
        ("openai", "grown", 3, None),
        ("openai", "held", 3, "HTTP 503"),
        ("openai", "cut", 1, "HTTP 429"),
    ]


def test_the_ledger_keeps_the_changes_of_each_run(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path)
    ledger.enter_pace("one", PaceEvent(1_700_000_000.25, "openai", "started", 2))
    ledger.enter_pace("two", PaceEvent(1_700_000_000.5, "openai", "started", 2))
    ledger.enter_pace("one", PaceEvent(1_700_000_001.5, "openai", "cut", 1, "HTTP 429"))
    ledger.close()
    ledger = Ledger(tmp_path)
    rows = ledger.pace("one").to_pylist()
    assert [(row["time"].timestamp(), row["event"], row["limit"], row["reason"]) for row in rows] == [
        (1_700_000_000.25, "started", 2, None),
        (1_700_000_001.5, "cut", 1, "HTTP 429"),
    ]
    assert ledger.pace("three").num_rows == 0
    ledger.close()


Opener = Callable[..., Gateway]


def chat_of(gateway: Gateway, server: FakeServer) -> GatewayChat:
    return GatewayChat(gateway, OpenAIProvider("sk-test", server.openai), ChatSettings("m"), Place("answer"))


def requests(count: int) -> list[ChatRequest]:
    return [ChatRequest(task="answer", system="Answer.", user=str(number)) for number in range(count)]


def test_a_server_that_bears_few_at_once_answers_every_call_in_the_end(
    server: FakeServer, open_gateway: Opener
) -> None:
    bears, refused = 3, []

    def answer(asked: Request) -> Answer:
        tenth = any(asked is each for each in server.requests[9:10])
        if server.at_once > bears or tenth:  # one at least, however slow the threads are
            refused.append(asked)
            return fakes.status(429, {"Retry-After": "0.1"})
        return fakes.chat(f"re: {asked.user}", hang=0.01)

    server.always(answer)
    gateway = open_gateway(pace=Ceilings(max_concurrency=16), chat=Patience())
    replies = chat_of(gateway, server).ask_many(requests(50), str)
    assert [reply.value for reply in replies if isinstance(reply, Reply)] == [f"re: {n}" for n in range(50)]
    totals = gateway.ledger.totals("run")
    assert (totals.paid, totals.retries) == (50, len(refused))
    history = gateway.ledger.pace("run").to_pylist()
    assert (history[0]["event"], history[0]["limit"]) == ("started", 2)
    cuts = [row for row in history if row["event"] == "cut"]
    assert 1 <= len(cuts) <= len(refused)
    assert {row["reason"] for row in cuts} == {"HTTP 429"}
    first = history.index(cuts[0])
    refused_at = max(row["limit"] for row in history[:first])
    assert all(row["limit"] < refused_at for row in history[first:])


def test_a_burst_of_refusals_is_cut_once(server: FakeServer, open_gateway: Opener) -> None:
    both = threading.Barrier(2)

    def answer(asked: Request) -> Answer:
        if not any(asked is early for early in server.requests[:2]):
            return fakes.chat("fine")
        both.wait(300)  # both are under way before either is refused
        return fakes.status(429, {"Retry-After": "0.1"})

    server.always(answer)
    gateway = open_gateway(pace=Ceilings(max_concurrency=2), chat=Patience())
    replies = chat_of(gateway, server).ask_many(requests(20), str)
    assert all(isinstance(reply, Reply) for reply in replies)
    history = gateway.ledger.pace("run").to_pylist()
    assert [(row["event"], row["limit"]) for row in history] == [("started", 2), ("cut", 1)]


@pytest.mark.parametrize("most", [1, 2, 5])
def test_never_more_requests_at_once_than_the_ceiling(
    server: FakeServer, open_gateway: Opener, most: int
) -> None:
    server.always(fakes.chat("fine", hang=0.02))
    chat_of(open_gateway(pace=Ceilings(max_concurrency=most)), server).ask_many(requests(30), str)
    assert min(most, 2) <= server.most_at_once <= most


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (fakes.status(401), "HTTP 401"),
        (fakes.status(403), "HTTP 403"),
        (fakes.status(404), "HTTP 404"),
        (fakes.status(429, code="insufficient_quota"), "quota is used up"),
        (fakes.status(429, {"Retry-After": "86400"}), "asks us to come back in 86400 s: HTTP 429"),
    ],
)
def test_what_no_waiting_can_mend_ends_the_stage_after_what_is_under_way(
    server: FakeServer, open_gateway: Opener, answer: Answer, reason: str
) -> None:
    server.always(answer)
    gateway = open_gateway(pace=Ceilings(max_concurrency=8))
    with pytest.raises(CallRefused, match=reason):
        chat_of(gateway, server).ask_many(requests(100), str)
    assert server.count() <= 2  # the pace starts with two


def test_a_provider_that_only_ever_limits_the_rate_ends_the_stage_and_says_so(
    server: FakeServer, open_gateway: Opener
) -> None:
    server.always(fakes.status(429, {"Retry-After": "0"}))
    patience = Patience(retries=1, sleep=lambda seconds: None)
    gateway = open_gateway(pace=Ceilings(max_concurrency=8), chat=patience, failures_in_a_row=3)
    with pytest.raises(
        CallRefused, match=r"openai limits our rate: 3 calls in a row failed.*HTTP 429.*--rpm"
    ):
        chat_of(gateway, server).ask_many(requests(100), str)
    assert {row["outcome"] for row in gateway.ledger.rows("run").to_pylist()} == {"failed"}


@pytest.mark.parametrize("fault", [fakes.status(503), fakes.reset()])
def test_a_provider_that_is_down_is_sent_no_more_than_what_is_under_way(
    server: FakeServer, open_gateway: Opener, fault: Answer
) -> None:
    most = 8
    server.always(fakes.chat("fine", hang=0.02))
    gateway = open_gateway(pace=Ceilings(max_concurrency=most), chat=Patience(retries=0), failures_in_a_row=4)
    chat = chat_of(gateway, server)
    chat.ask_many(requests(60), str)  # it has grown to eight
    before = server.count()
    server.always(fault)
    with pytest.raises(CallRefused, match="openai is down: 4 calls in a row failed"):
        chat.ask_many(requests(300), str)
    assert 4 <= server.count() - before <= 4 + most


def test_an_open_breaker_ends_the_waiting_of_all_threads(server: FakeServer, open_gateway: Opener) -> None:
    server.always(fakes.status(429, {"Retry-After": "200"}))
    gateway = open_gateway(pace=Ceilings(max_concurrency=8), failures_in_a_row=2)
    with pytest.raises(CallRefused, match="limits our rate"):
        chat_of(gateway, server).ask_many(requests(50), str)
    assert server.count() == 2


def test_a_call_whose_provider_asks_for_more_patience_than_it_has_is_left_for_later(
    server: FakeServer, open_gateway: Opener, waits: list[float]
) -> None:
    server.always(fakes.status(429, {"Retry-After": "60"}))
    (reply,) = chat_of(open_gateway(), server).ask_many(requests(1), str)
    assert isinstance(reply, CallFailed)
    assert not reply.final
    assert waits == []


def test_a_local_model_is_asked_without_waiting(open_gateway: Opener, server: FakeServer) -> None:
    class Local:
        alias = "here"
        local = True

        def __init__(self, provider: OpenAIProvider) -> None:
            self._provider = provider

        def __getattr__(self, name: str) -> Any:
            return getattr(self._provider, name)

    gateway = open_gateway(pace=Ceilings(max_concurrency=1, rpm=1))
    local = Local(OpenAIProvider("sk-test", server.openai))
    chat = GatewayChat(gateway, local, ChatSettings("m"), Place("answer"))
    assert len(chat.ask_many(requests(5), str)) == 5
    assert gateway.ledger.pace("run").num_rows == 0
