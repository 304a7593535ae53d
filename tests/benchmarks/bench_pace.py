"""What a turn costs beside the request that it is for, and how soon calls end on servers that limit them; real HTTP."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

from memory.models import ChatRequest
from tasks.models.openai_provider import OpenAIProvider
from tasks.models.pace import Ceilings, Pace, PaceEvent
from tasks.models.providers import ChatSettings
from tasks.models.retries import Patience, persist
from tests.benchmarks.timing import seconds
from tests.tasks.models import fakes
from tests.tasks.models.fakes import Answer, FakeServer, Request

THREADS = 16
CALLS = 300
BEARS = 6
TOO_OFTEN = fakes.status(429, {"Retry-After": "0.2"})
FINE = fakes.chat("fine", hang=0.05)

Admit = Callable[[], AbstractContextManager[None]]


@dataclass
class AtOnce:
    """A server that bears so many requests at once."""

    server: FakeServer

    def __call__(self, asked: Request) -> Answer:
        return TOO_OFTEN if self.server.at_once > BEARS else FINE


@dataclass
class Often:
    """A server that bears so many requests within any second, refused ones not counted."""

    server: FakeServer
    most: int = 60
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _sent: deque[float] = field(default_factory=deque)

    def __call__(self, asked: Request) -> Answer:
        now = time.monotonic()
        with self._lock:
            while self._sent and self._sent[0] <= now - 1.0:
                self._sent.popleft()
            if len(self._sent) >= self.most:
                return TOO_OFTEN
            self._sent.append(now)
        return FINE


def ask(provider: OpenAIProvider, left: float) -> None:
    settings = ChatSettings("m")
    request = ChatRequest(task="answer", system="Answer.", user="What is it?")
    provider.complete("m", provider.payload(request, settings), left)


def calls(provider: OpenAIProvider, threads: int, admit: Admit, count: int = CALLS) -> None:
    def call(_: int) -> None:
        persist(lambda left: ask(provider, left), Patience(), admit)

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(call, range(count)))


def new_pace(events: list[PaceEvent], **ceilings: int) -> Admit:
    pace = Pace("openai", Ceilings(**ceilings), events.append)
    return lambda: pace.turn(100)


def overhead() -> None:
    """Of a turn that need not wait."""
    ceilings = {"max_concurrency": 16, "rpm": 10**7, "tpm": 10**9}
    admit = new_pace([], **ceilings)

    def turns() -> None:
        for _ in range(20_000):
            with admit():
                pass

    turn = seconds(turns) / 20_000
    for threads in (1, 8):
        with FakeServer() as server:
            provider = OpenAIProvider("sk-bench", server.openai)
            bare = seconds(partial(calls, provider, threads, nullcontext)) / CALLS
            paced = seconds(partial(calls, provider, threads, admit)) / CALLS
        print(
            f"{threads} threads: a call {bare * 1e3:.2f} ms, in turn {paced * 1e3:.2f} ms ({paced / bare:.2f} times);"
            f" a turn alone {turn * 1e6:.1f} us, {turn / bare:.2%} of a call to a server that answers at once"
        )


def race(what: str, limit: Callable[[FakeServer], Callable[[Request], Answer]]) -> None:
    """Fixed numbers of threads against one pace; every call is answered in the end."""
    print(f"{CALLS} calls to a server that bears {what}:")
    reference = 0.0
    for name, threads, paced in (
        (f"{BEARS} at once, fixed", BEARS, False),
        ("2 at once, fixed", 2, False),
        (f"{THREADS} at once, fixed", THREADS, False),
        (f"adaptive, at most {THREADS}", THREADS, True),
    ):
        with FakeServer() as server:
            server.always(limit(server))
            events: list[PaceEvent] = []
            admit = new_pace(events, max_concurrency=THREADS) if paced else nullcontext
            begun = time.perf_counter()
            calls(OpenAIProvider("sk-bench", server.openai), threads, admit)
            took = time.perf_counter() - begun
            reference = reference or took
            refused = server.count() - CALLS
            cuts = f", {sum(event.event == 'cut' for event in events)} cuts" if paced else ""
            print(f"  {name}: {took / reference:.2f} times the first, {refused} refused{cuts} ({took:.1f} s)")


def main() -> None:
    overhead()
    race(f"{BEARS} at once", AtOnce)
    race("60 a second", Often)


if __name__ == "__main__":
    main()
