"""Trying again after faults of transport, within one deadline."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from tasks.models.providers import ProviderFault, TransportFault, Trouble

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often to try.

    Attributes:
        deadline: Seconds for a call in all: its requests and the waits between them. Waiting to be admitted is not
            counted.
        retries: Most tries after the first, whatever the faults. Faults of rate have no other bound.
        server, lost, unreached: Most tries after a fault of that kind. A lost request may be billed, so there are few.
        first_wait: Seconds before the first retry; it doubles from one to the next.
        longest_wait: Its cap. A provider's Retry-After has none but the deadline.
        sleep, clock, jitter: For tests. `jitter` gives a number from 0 to 1.
    """

    deadline: float = 120.0
    retries: int = 40
    server: int = 8
    lost: int = 2
    unreached: int = 5
    first_wait: float = 0.5
    longest_wait: float = 20.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic
    jitter: Callable[[], float] = random.random

    def wait(self, retry: int, asked: float | None) -> float:
        """Seconds to wait before retry number `retry`, counted from zero.

        Half of the exponential wait is random, so that threads which failed together do not come back
        together.
        """
        if asked is not None:
            return asked + self.jitter() * self.first_wait
        longest = min(self.longest_wait, self.first_wait * 2.0**retry)
        return longest * (0.5 + 0.5 * self.jitter())

    def bears(self, faults: Counter[Trouble]) -> bool:
        """Whether there may be another try after these faults of one call."""
        bounds: dict[Trouble, int] = {
            "server": self.server,
            "lost": self.lost,
            "unreached": self.unreached,
        }
        return faults.total() <= self.retries and all(faults[kind] <= most for kind, most in bounds.items())


def persist(
    ask: Callable[[float], T],
    patience: Patience,
    admit: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> tuple[T, int]:
    """Call `ask(seconds left)` until it succeeds; returns its result and the number of retries.

    Each try is made inside a context of its own from `admit`, which may wait as long as it likes before it lets the
    try begin, and which sees how the try ends.

    Raises:
        ProviderFault: The last fault, with its `retries`, once the deadline or the retries are used up, or at once
            for a fault that no retry can mend.
    """
    used = 0.0
    faults: Counter[Trouble] = Counter()
    while True:
        begun = patience.clock()
        try:
            with admit():
                begun = patience.clock()
                return ask(patience.deadline - used), faults.total()
        except ProviderFault as fault:
            fault.retries = faults.total()
            if not isinstance(fault, TransportFault):
                raise
            faults[fault.kind] += 1
            wait = patience.wait(fault.retries, fault.retry_after)
            used += patience.clock() - begun + wait
            if not patience.bears(faults) or used >= patience.deadline:
                raise
        patience.sleep(wait)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that a reply's Retry-After asks for, given as seconds or as a date; none if it does not say."""
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        moment = parsedate_to_datetime(value)
    except ValueError:
        return None
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
