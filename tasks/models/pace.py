"""How fast a provider is asked: threads wait here for their turn to send a request."""

from __future__ import annotations

import math
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from tasks.models.providers import TransportFault
from tasks.models.throttle import Change, Sent, Throttle

_LOOK = 0.5  # seconds after which a waiting thread sees that the run is being stopped


class Ceilings(BaseModel):
    """The fastest that a provider may be asked; the limiter stays below what it can bear by itself."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    max_concurrency: int = Field(16, ge=1, le=256, description="Requests under way at once.")
    rpm: int | None = Field(None, ge=1, description="Requests a minute.")
    tpm: int | None = Field(None, ge=1, description="Tokens a minute, of prompts and replies at their worst.")


def ceilings_of(alias: str, wanted: Ceilings) -> Ceilings:
    """How fast a provider may be asked at most: as the user wants, but one that computes here one call at a time."""
    return wanted.model_copy(update={"max_concurrency": 1}) if alias == "local" else wanted


@dataclass(frozen=True, slots=True)
class PaceEvent:
    """A change of the pace.

    Attributes:
        time: Seconds since 1970, UTC.
        provider: Its alias.
        event: `started`: the first request. `grown`: one more at once. `cut`: it refused a request for its rate; half
            as many at once, after a pause. `held`: it met another fault, and does not grow for a while.
        limit: Requests at once from now on.
        reason: The fault, where there was one.
    """

    time: float
    provider: str
    event: Literal["started"] | Change
    limit: int
    reason: str | None = None


def never() -> None:
    """Nothing stops the waiting."""


class Pace:
    """The turns of one provider, first come first served. Thread-safe."""

    def __init__(
        self,
        alias: str,
        ceilings: Ceilings,
        record: Callable[[PaceEvent], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """The pace of a provider; every change of it is given to `record`, one after another."""
        self._alias = alias
        self._record = record
        self._clock = clock
        self._throttle = Throttle(ceilings.max_concurrency, ceilings.rpm, ceilings.tpm)
        self._lock = threading.Lock()
        self._line: deque[threading.Condition] = deque()

    @contextmanager
    def turn(self, tokens: int, stopped: Callable[[], None] = never) -> Iterator[None]:
        """Wait until a request of so many tokens, at their worst, may be sent; send it inside.

        How the block ends is what the pace learns from. `stopped` is called before the turn and now and then while
        it is waited for, with the pace's lock held; what it raises ends the waiting.
        """
        sent = self._await_turn(tokens, stopped)
        ended: Callable[[float], Change | None] = self._throttle.abandon
        reason = None
        try:
            yield
            ended = self._throttle.succeed
        except TransportFault as fault:
            ended = partial(self._throttle.fail, sent, fault)
            reason = fault.reason
            raise
        finally:
            with self._lock:
                change = ended(self._clock())
                self._wake_first()
                if change:
                    self._tell(change, reason)

    def _await_turn(self, tokens: int, stopped: Callable[[], None]) -> Sent:
        with self._lock:
            mine = threading.Condition(self._lock)
            self._line.append(mine)
            try:
                while True:
                    stopped()
                    first = self._line[0] is mine
                    wait = self._throttle.wait(tokens, self._clock()) if first else math.inf
                    if wait <= 0:
                        return self._begin(tokens)
                    mine.wait(min(wait, _LOOK))
            finally:
                self._line.remove(mine)
                self._wake_first()

    def _wake_first(self) -> None:
        if self._line:
            self._line[0].notify()

    def _begin(self, tokens: int) -> Sent:
        sent = self._throttle.begin(tokens, self._clock())
        if sent.number == 1:
            self._tell("started", None)
        return sent

    def _tell(self, event: Literal["started"] | Change, reason: str | None) -> None:
        """Under the lock, so that the history is in order."""
        self._record(PaceEvent(time.time(), self._alias, event, self._throttle.limit, reason))
