"""How many requests a provider is sent at once and a minute: the rule alone, without threads and without a clock.

Additive increase and multiplicative decrease, with a slow start, as TCP controls congestion (Jacobson 1988; RFC 5681):
the number of requests at once doubles from one round of replies to the next until the provider first refuses one for
its rate (HTTP 429), is halved then, and afterwards grows by one a round.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable
from typing import Literal, NamedTuple

from tasks.models.providers import TransportFault
from tasks.models.retries import Patience

Change = Literal["grown", "cut", "held"]

MINUTE = 60.0
_START = 2
_HOLD = 10.0
_BURST = 10  # of a minute's allowance, one part in so many may be sent within as small a part of the minute


class Window:
    """No more than `most` within any `seconds`; a single larger amount passes alone.

    Exact: it keeps what was sent within the last `seconds`.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._most = most
        self._seconds = seconds
        self._sent: deque[tuple[float, int]] = deque()
        self._sum = 0

    def wait(self, amount: int, now: float) -> float:
        """Seconds until the amount may be sent."""
        while self._sent and self._sent[0][0] + self._seconds <= now:
            self._sum -= self._sent.popleft()[1]
        excess = self._sum + amount - self._most
        seconds = 0.0
        for time, earlier in self._sent:
            if excess <= 0:
                break
            excess -= earlier
            seconds = time + self._seconds - now
        return seconds

    def add(self, amount: int, now: float) -> None:
        """Count the amount as sent."""
        self._sent.append((now, amount))
        self._sum += amount


def a_minute(most: int | None) -> tuple[Window, ...]:
    """Windows that keep to so many a minute, in small bursts; none if there is no ceiling."""
    if most is None:
        return ()
    return Window(most, MINUTE), Window(math.ceil(most / _BURST), MINUTE / _BURST)


class Sent(NamedTuple):
    """A request that was sent: its number, and how many were under way then, itself included."""

    number: int
    at_once: int


class Throttle:
    """What one provider can bear, learnt from how requests end. All times are readings of one monotonic clock."""

    def __init__(
        self,
        most_at_once: int,
        rpm: int | None = None,
        tpm: int | None = None,
        backoff: Callable[[int, float | None], float] | None = None,
    ) -> None:
        """A throttle below these ceilings.

        `backoff` gives the seconds for which nobody sends after a refusal, by its number in a row and the
        provider's Retry-After.
        """
        self._most = most_at_once
        self._backoff = backoff or Patience().wait
        self._requests = a_minute(rpm)
        self._tokens = a_minute(tpm)
        self._level = float(min(_START, most_at_once))
        self._slow_start = True
        self._sent = 0
        self._under_way = 0
        self._cuts_in_a_row = 0
        self._sent_at_cut = 0
        self._paused_until = -math.inf
        self._held_until = -math.inf
        self._refused_level = math.inf
        self._refused_until = -math.inf

    @property
    def limit(self) -> int:
        """Requests that may be under way at once, now."""
        return int(self._level)

    def wait(self, tokens: int, now: float) -> float:
        """Seconds until a request of so many tokens may be sent; infinite until another one ends."""
        if self._under_way >= self.limit:
            return math.inf
        waits = [self._paused_until - now, *(window.wait(1, now) for window in self._requests)]
        waits.extend(window.wait(tokens, now) for window in self._tokens)
        return max(0.0, *waits)

    def begin(self, tokens: int, now: float) -> Sent:
        """A request is sent."""
        for window in self._requests:
            window.add(1, now)
        for window in self._tokens:
            window.add(tokens, now)
        self._under_way += 1
        self._sent += 1
        return Sent(self._sent, self._under_way)

    def abandon(self, now: float) -> None:
        """A request ended in a way that says nothing of what the provider can bear."""
        self._under_way -= 1

    def succeed(self, now: float) -> Change | None:
        """A request was answered; returns what has changed."""
        full = self._under_way >= self.limit  # else nobody knows whether more would be borne
        self._under_way -= 1
        self._cuts_in_a_row = 0
        if not full or now < self._held_until:
            return None
        before = self.limit
        # What was refused is not tried again for a minute, the span over which providers count.
        top = self._most if now >= self._refused_until else min(self._most, self._refused_level - 1)
        step = 1.0 if self._slow_start else 1.0 / before
        self._level = max(self._level, min(self._level + step, top))
        return "grown" if self.limit > before else None

    def fail(self, sent: Sent, fault: TransportFault, now: float) -> Change | None:
        """A request met a fault; returns what has changed."""
        self._under_way -= 1
        if fault.kind != "rate":
            held = now < self._held_until
            self._held_until = now + _HOLD
            return None if held else "held"
        if sent.number > self._sent_at_cut:
            self._cut(now, fault.retry_after)
            change: Change | None = "cut"
        else:  # of the burst that was cut already
            change = None
            self._pause(now, fault.retry_after or 0.0)
        # A refusal of fewer than are borne anyway was not for their number.
        self._refused_level = min(self._refused_level, max(sent.at_once, self.limit + 1))
        return change

    def _cut(self, now: float, retry_after: float | None) -> None:
        self._level = float(max(1, self.limit // 2))
        self._slow_start = False
        self._sent_at_cut = self._sent
        self._refused_level = math.inf
        self._refused_until = now + MINUTE
        self._pause(now, self._backoff(self._cuts_in_a_row, retry_after))
        self._cuts_in_a_row += 1

    def _pause(self, now: float, seconds: float) -> None:
        self._paused_until = max(self._paused_until, now + seconds)
