"""The one gateway through which every call to a model goes: bought once, then replayed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from functools import partial
from types import TracebackType
from typing import Generic, TypeVar

from memory.errors import BudgetExhausted, CallRefused
from tasks.models.budget import Budget
from tasks.models.ledger import Entry, Ledger, Reservation
from tasks.models.limits import Breaker, KeyedLocks
from tasks.models.pace import Ceilings, Pace, ceilings_of
from tasks.models.prices import Prices, list_prices
from tasks.models.providers import AccessRefused, ProviderFault
from tasks.models.retries import Patience, persist
from tasks.models.shared_limits import shared_turn
from tasks.models.store import Damaged, Store

T = TypeVar("T")
S = TypeVar("S")

# How often somebody who waits for another process's calls to settle looks again, in seconds.
_LOOK_AGAIN = 0.2


@dataclass(frozen=True, slots=True)
class Limits:
    """How hard and how often to ask, and what may be spent.

    Attributes:
        reasks: Asks after the first while replies are unusable.
        retry_failed: Ask anew for calls whose stored replies are all unusable.
        repair: Buy again what was found damaged in the store.
        chat, embed: Deadlines and retries of one request.
        failures_in_a_row: Calls that may fail one after another, each with all its retries, before the run
            stops.
        pace: The fastest that each provider may be asked.
        budget: The most that the run may spend.
        prices: Of models.
    """

    reasks: int = 2
    retry_failed: bool = False
    repair: bool = False
    chat: Patience = field(default_factory=Patience)
    embed: Patience = field(default_factory=Patience)
    failures_in_a_row: int = 8
    pace: Ceilings = field(default_factory=Ceilings)
    budget: Budget = field(default_factory=Budget)
    prices: Prices = field(default_factory=list_prices)


@dataclass(frozen=True, slots=True)
class Place:
    """What a call is made for, as the ledger shows it.

    Attributes:
        was_bought: Whether its calls were all bought once, so that one that is missing was lost.
    """

    stage: str
    condition: str = ""
    was_bought: bool = False


@dataclass(slots=True)
class Bought(Generic[T]):
    """A reply, the retries that it took, and what of the budget is still held for it until it is entered."""

    reply: T
    retries: int
    held: Reservation | None


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
        self.collected: set[str] = set()  # ids of the calls that this process has collected from batches
        self.without_vector: dict[str, str] = {}  # why, by call id: no stage of a process asks for them again
        self._guard = threading.Lock()
        self._paces: dict[str, Pace] = {}
        self.lost: set[str] = set()  # ids of calls that damage has taken: not bought again unasked
        self._breaker = Breaker(self.limits.failures_in_a_row)
        self._closing = threading.Event()
        self._refusal: CallRefused | None = None
        self._settled = threading.Condition()
        self._exhausted: dict[str, BudgetExhausted] = {}
        self._threads = ThreadPoolExecutor(self.limits.pace.max_concurrency, thread_name_prefix="gateway")

    def __enter__(self) -> Gateway:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def exhausted(self) -> str:
        """Which budget has refused a call, in words; empty if none has."""
        return next((str(refusal) for refusal in self._exhausted.values()), "")

    def close(self) -> None:
        """Wait for requests under way, and close ledger and store."""
        # Not cancel_futures: whoever waits for a future that the executor cancels is never told, and waits for ever.
        self._closing.set()
        self._threads.shutdown()
        self.ledger.close()
        self.store.close()

    def check_unbought(self, place: Place, call_ids: Sequence[str]) -> None:
        """Make sure, before calls that the store lacks are bought, that they were not bought once and lost.

        Raises:
            Damaged: If one was, and the user has not said to repair that.
        """
        if self.limits.repair:
            return
        for call_id, refusal in self.store.refusals(call_ids).items():
            self.lost.add(call_id)
            raise refusal
        if place.was_bought:
            self.lost.update(call_ids)
            raise Damaged(
                f"the run's part was damaged, and store entry {call_ids[0][:12]} is lost, too; --repair buys it again"
            )

    def buy(
        self,
        alias: str,
        ask: Callable[[float], T],
        patience: Patience,
        worst: Sequence[Entry],
        local: bool = False,
    ) -> Bought[T]:
        """Ask a provider, again after faults of transport.

        Args:
            alias: The provider.
            ask: Sends the request once, for at most so many seconds.
            patience: Deadline and retries.
            worst: The ledger's rows of the request's calls if it is sent and no reply is seen.
            local: Whether the provider computes in this process, so that it is asked without waiting.

        Raises:
            ProviderFault: If there is no reply, for this call.
            BudgetExhausted: If the budget does not cover it.
            CallRefused: If there will be none for any call.
        """
        held: list[Reservation | None] = [None]

        @contextmanager
        def admit() -> Iterator[None]:
            with self._turn(alias, worst, local):
                held[0] = self._reserve(worst, local)
                with self._settling(held[0], worst):
                    yield

        try:
            reply, retries = persist(ask, patience, admit)
        except ProviderFault as fault:
            self._breaker.failed(alias, fault)
            if isinstance(fault, AccessRefused):
                raise CallRefused(fault.reason) from None
            raise
        self._breaker.succeeded(alias)
        return Bought(reply, retries, held[0])

    def enter(self, entries: Sequence[Entry], settles: Reservation | None = None) -> None:
        """Enter rows in the ledger, and let go what was held of the budget for them."""
        self.ledger.enter(entries, settles)
        self._tell()

    @contextmanager
    def _turn(self, alias: str, worst: Sequence[Entry], local: bool) -> Iterator[None]:
        """Wait until a request may be sent; how it ends tells the pace and the breaker what the provider can bear.

        Nothing of the budget is held while it waits: a run that is killed meanwhile has not sent it.
        """

        def stopped() -> None:
            self._refuse(alias, worst[0].stage)

        stopped()
        if local:
            yield
            return
        tokens = sum(entry.charged_tokens or 0 for entry in worst)
        with self._pace(alias).turn(tokens, stopped), shared_turn(alias, stopped):
            try:
                yield
            except ProviderFault as fault:
                self._breaker.tried(alias, fault)
                raise

    def _pace(self, alias: str) -> Pace:
        with self._guard:
            if alias not in self._paces:
                enter = partial(self.ledger.enter_pace, self.run)
                self._paces[alias] = Pace(alias, ceilings_of(alias, self.limits.pace), enter)
            return self._paces[alias]

    def _refuse(self, alias: str, stage: str) -> None:
        if self._closing.is_set():
            raise CallRefused("the run is being stopped")
        if self._refusal is not None:
            raise self._refusal
        self._breaker.check(alias)
        for scope in ("", stage):
            if scope in self._exhausted:
                raise self._exhausted[scope]

    def _reserve(self, worst: Sequence[Entry], local: bool) -> Reservation | None:
        """Hold the worst case of a request, as soon as others under way leave room for it.

        Without a budget, too: what is under way when the process dies may be billed, and a later budget counts it.
        """
        budget = self.limits.budget
        if local and not budget.limits:
            return None
        while True:
            self._refuse(worst[0].provider, worst[0].stage)
            try:
                held = self.ledger.reserve(worst, budget)
            except BudgetExhausted as refusal:
                if len(worst) == 1:  # a smaller part of a batch may still be covered
                    self._exhausted[refusal.stage] = refusal
                raise
            if held is not None:
                return held
            with self._settled:
                self._settled.wait(_LOOK_AGAIN)

    @contextmanager
    def _settling(self, held: Reservation | None, worst: Sequence[Entry]) -> Iterator[None]:
        """What ends in a reply is entered by the caller; else nothing was billed, or a loss is entered here."""
        try:
            yield
        except BaseException as error:  # raised again: whatever ends the try, what it holds is settled
            if isinstance(error, ProviderFault) and not error.may_be_billed:
                self.ledger.release(held)
                self._tell()
            else:
                self.enter([replace(entry, reason=str(error) or entry.reason) for entry in worst], held)
            raise

    def _tell(self) -> None:
        with self._settled:
            self._settled.notify_all()

    def each(self, work: Callable[[S], T], items: Sequence[S], local: bool) -> list[T]:
        """The work on every item, in their order; concurrently unless it computes in this process.

        The first error ends it: work under way is finished, and what is bought is kept, but no more is begun.
        """
        if local or len(items) < 2:
            return [work(item) for item in items]

        def unless_closing(item: S) -> T:
            if self._closing.is_set():
                raise CallRefused("the run is being stopped")
            try:
                return work(item)
            except CallRefused as refusal:
                self._refusal = refusal  # whoever waits for a turn need not take it: the run ends
                raise

        # With the caller's context: in a Prefect run, it is that which names the run.
        futures = [self._threads.submit(copy_context().run, unless_closing, item) for item in items]
        try:
            for future in as_completed(futures):
                future.result()
        finally:
            for future in futures:
                future.cancel()  # nothing to those that are done
            wait(futures)
        return [future.result() for future in futures]
