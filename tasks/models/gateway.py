"""The one gateway through which every call to a model goes: bought once, then replayed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from dataclasses import dataclass, field
from types import TracebackType
from typing import TypeVar

from memory.errors import CallRefused
from tasks.models.ledger import Ledger
from tasks.models.limits import Breaker, KeyedLocks
from tasks.models.providers import AccessRefused, ProviderFault
from tasks.models.retries import Patience, persist
from tasks.models.store import Store

T = TypeVar("T")
S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard and how often to ask.

    Attributes:
        concurrency: Requests under way at once.
        reasks: Asks after the first while replies are unusable.
        retry_failed: Ask anew for calls whose stored replies are all unusable.
        chat, embed: Deadlines and retries of one request.
        failures_in_a_row: Calls that may fail one after another, each with all its retries, before the run
            stops.
    """

    concurrency: int = 8
    reasks: int = 2
    retry_failed: bool = False
    chat: Patience = field(default_factory=Patience)
    embed: Patience = field(default_factory=Patience)
    failures_in_a_row: int = 8


@dataclass(frozen=True, slots=True)
class Place:
    """What a call is made for, as the ledger shows it."""

    stage: str
    condition: str = ""


class Gateway:
    """Store, ledger, threads and limits, shared by all models of one process of a run.

    `tasks.models.chat.GatewayChat` and `tasks.models.embedding.GatewayEmbedder` are the models that ask
    through it.
    """

    def __init__(self, store: Store, ledger: Ledger, run: str, limits: Limits | None = None) -> None:
        self.store = store
        self.ledger = ledger
        self.run = run
        self.limits = limits or Limits()
        self.buyers = KeyedLocks(store.folder / "buying")
        self._breaker = Breaker(self.limits.failures_in_a_row)
        self._closing = threading.Event()
        self._threads = ThreadPoolExecutor(self.limits.concurrency, thread_name_prefix="gateway")

    def __enter__(self) -> Gateway:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Wait for requests under way, and close ledger and store."""
        # Not cancel_futures: whoever waits for a future that the executor cancels is never told, and waits for ever.
        self._closing.set()
        self._threads.shutdown()
        self.ledger.close()
        self.store.close()

    def buy(self, alias: str, ask: Callable[[float], T], patience: Patience) -> tuple[T, int]:
        """Ask a provider, again after faults of transport; returns the reply and the number of retries.

        Raises:
            ProviderFault: If there is no reply, for this call.
            CallRefused: If there will be none for any call.
        """

        def checked(seconds: float) -> T:
            self._breaker.check(alias)
            return ask(seconds)

        try:
            bought = persist(checked, patience)
        except ProviderFault as fault:
            self._breaker.failed(alias, fault)
            if isinstance(fault, AccessRefused):
                raise CallRefused(fault.reason) from None
            raise
        self._breaker.succeeded(alias)
        return bought

    def each(self, work: Callable[[S], T], items: Sequence[S], local: bool) -> list[T]:
        """The work on every item, in their order; concurrently unless it computes in this process.

        The first error ends it: work under way is finished, and what is bought is kept, but no more is begun.
        """
        if local or len(items) < 2:
            return [work(item) for item in items]

        def unless_closing(item: S) -> T:
            if self._closing.is_set():
                raise CallRefused("the run is being stopped")
            return work(item)

        futures = [self._threads.submit(unless_closing, item) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
        except BaseException:
            for future in futures:
                future.cancel()
            wait(futures)
            raise
        return [future.result() for future in futures]
