"""Trying again after faults of transport, within one deadline."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TypeVar

from tasks.models.providers import ProviderFault, TransportFault

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often to try.

    Attributes:
        deadline: Seconds for a call in all, waits and retries included.
        retries: Most tries after the first.
        first_wait: Seconds before the first retry; it doubles from one to the next.
        longest_wait: Its cap. A provider's Retry-After has none but the deadline.
        sleep, clock, jitter: For tests. `jitter` gives a number from 0 to 1.
    """

    deadline: float = 120.0
    retries: int = 8
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


def persist(ask: Callable[[float], T], patience: Patience) -> tuple[T, int]:
    """Call `ask(seconds left)` until it succeeds; returns its result and the number of retries.

    Raises:
        ProviderFault: The last fault, with its `retries`, once the deadline or the retries are used up, or at
        once
            for a fault that no retry can mend.
    """
    end = patience.clock() + patience.deadline
    retry = 0
    while True:
        try:
            return ask(end - patience.clock()), retry
        except ProviderFault as fault:
            fault.retries = retry
            if not isinstance(fault, TransportFault) or retry == patience.retries:
                raise
            wait = patience.wait(retry, fault.retry_after)
            if patience.clock() + wait >= end:
                raise
        patience.sleep(wait)
        retry += 1


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
