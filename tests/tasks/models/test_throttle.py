"""How many requests a provider is sent: worked by hand, and in a simulation in which nothing waits."""

from __future__ import annotations

import heapq
import math
from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.models.providers import TransportFault
from tasks.models.throttle import Sent, Throttle, Window

Fault = TransportFault | None
Change = str | None


def too_often(retry_after: float | None = None) -> TransportFault:
    return TransportFault("HTTP 429", retry_after, "rate")


def simulate(
    throttle: Throttle, tokens: Sequence[int], answer: Callable[[float, int], tuple[float, Fault]]
) -> tuple[list[float], list[tuple[float, Fault, Change]]]:
    """Send a request of each size, as soon as may be.

    `answer` says for the time and the number under way, the new one included, how long a request takes and how it
    ends. Returns the times of sending, and for each end its time, its fault and what it changed.
    """
    now = 0.0
    under_way: list[tuple[float, Sent, Fault]] = []
    sent: list[float] = []
    ended: list[tuple[float, Fault, Change]] = []
    while len(ended) < len(tokens):
        wait = throttle.wait(tokens[len(sent)], now) if len(sent) < len(tokens) else math.inf
        if wait == 0:
            number = throttle.begin(tokens[len(sent)], now)
            seconds, fault = answer(now, len(under_way) + 1)
            heapq.heappush(under_way, (now + seconds, number, fault))
            sent.append(now)
        elif under_way and under_way[0][0] <= now + wait:
            now, number, fault = heapq.heappop(under_way)
            ended.append((now, fault, end(throttle, number, fault, now)))
        else:
            # As a thread does: it may wake an instant too early, and then waits again.
            now = math.nextafter(now + wait, math.inf)
    return sent, ended


def end(throttle: Throttle, sent: Sent, fault: Fault, now: float) -> Change:
    return throttle.succeed(now) if fault is None else throttle.fail(sent, fault, now)


def fill(throttle: Throttle, now: float) -> list[Sent]:
    """As many requests as may be sent now."""
    numbers = []
    while throttle.wait(1, now) == 0:
        numbers.append(throttle.begin(1, now))
    return numbers


def most_within(times: Sequence[float], amounts: Sequence[int], seconds: float) -> int:
    return max(
        sum(a for t, a in zip(times, amounts, strict=True) if start <= t < start + seconds) for start in times
    )


def test_it_starts_with_two_and_doubles_with_each_round_up_to_the_ceiling() -> None:
    sent, _ = simulate(Throttle(10), [1] * 44, lambda now, under_way: (1.0, None))
    rounds = Counter(sent)
    assert [rounds[float(second)] for second in range(6)] == [2, 4, 8, 10, 10, 10]


def test_a_ceiling_of_one_is_kept() -> None:
    throttle = Throttle(1)
    for now in range(5):
        assert len(fill(throttle, float(now))) == 1
        assert throttle.succeed(float(now)) is None
    assert throttle.limit == 1


def test_it_does_not_grow_while_it_is_not_used_up() -> None:
    throttle = Throttle(16)
    for now in range(20):
        end(throttle, throttle.begin(1, float(now)), None, float(now))
    assert throttle.limit == 2


def at_eight() -> tuple[Throttle, list[Sent]]:
    """A throttle that has grown to eight, which are under way."""
    throttle = Throttle(16, backoff=lambda number, asked: 2.0**number if asked is None else asked)
    numbers = fill(throttle, 0.0)
    while throttle.limit < 8:
        end(throttle, numbers.pop(0), None, 0.0)
        numbers += fill(throttle, 0.0)
    for _ in numbers:
        throttle.abandon(0.0)
    return throttle, fill(throttle, 0.0)


def test_a_burst_of_refusals_cuts_once_and_pauses_everybody() -> None:
    throttle, numbers = at_eight()
    changes = [end(throttle, number, too_often(), 1.0) for number in numbers]
    assert changes == ["cut"] + [None] * 7
    assert throttle.limit == 4
    assert throttle.wait(1, 1.0) == 1.0
    assert throttle.wait(1, 1.5) == 0.5
    assert len(fill(throttle, 2.0)) == 4


def test_the_pause_lasts_until_the_longest_retry_after_of_the_burst() -> None:
    throttle, numbers = at_eight()
    end(throttle, numbers[0], too_often(3.0), 1.0)
    end(throttle, numbers[1], too_often(9.0), 2.0)
    for number in numbers[2:]:
        end(throttle, number, too_often(1.0), 2.0)
    assert throttle.wait(1, 2.0) == 9.0


def test_a_refusal_after_the_pause_cuts_again_and_pauses_longer() -> None:
    throttle, numbers = at_eight()
    for number in numbers:
        end(throttle, number, too_often(), 0.0)
    first, *others = fill(throttle, 1.0)
    assert end(throttle, first, too_often(), 1.0) == "cut"
    assert throttle.limit == 2
    for _ in others:
        throttle.abandon(1.0)
    assert throttle.wait(1, 1.0) == 2.0


def test_after_an_answer_pauses_are_short_again() -> None:
    throttle, numbers = at_eight()
    end(throttle, numbers[0], too_often(), 0.0)
    end(throttle, numbers[1], None, 0.0)
    for _ in numbers[2:]:
        throttle.abandon(0.0)
    first, *others = fill(throttle, 1.0)
    for _ in others:
        throttle.abandon(1.0)
    end(throttle, first, too_often(), 1.0)
    assert throttle.wait(1, 1.0) == 1.0


def test_it_never_stops_altogether() -> None:
    throttle = Throttle(16, backoff=lambda number, asked: 1.0)
    for now in range(10):
        (number, *others) = fill(throttle, 2.0 * now)
        end(throttle, number, too_often(), 2.0 * now)
        for _ in others:
            throttle.abandon(2.0 * now)
    assert throttle.limit == 1
    assert len(fill(throttle, 100.0)) == 1


@pytest.mark.parametrize(("refused", "limits"), [(8, [5, 6, 7, 7, 7]), (6, [5, 5, 5, 5, 5]), (2, [4] * 5)])
def test_after_a_cut_it_grows_by_one_a_round_and_for_a_minute_not_to_what_was_refused(
    refused: int, limits: list[int]
) -> None:
    throttle, numbers = at_eight()
    end(throttle, numbers.pop(refused - 1), too_often(0.0), 0.0)
    for _ in numbers:
        throttle.abandon(0.0)
    assert throttle.limit == 4
    assert [after_a_round(throttle, now) for now in (1.0, 2.0, 3.0, 4.0, 59.0)] == limits
    assert after_a_round(throttle, 60.0) == limits[-1] + 1


def after_a_round(throttle: Throttle, now: float) -> int:
    """The limit after as many requests as may be were answered, one after another, with others in their places."""
    others = []
    for number in fill(throttle, now):
        end(throttle, number, None, now)
        others += fill(throttle, now)
    for _ in others:
        throttle.abandon(now)
    return throttle.limit


@pytest.mark.parametrize("kind", ["server", "lost", "unreached"])
def test_other_faults_hold_the_growth_for_ten_seconds_and_cut_nothing(kind: str) -> None:
    throttle, numbers = at_eight()
    fault = TransportFault("HTTP 500", None, kind)  # type: ignore[arg-type]
    assert end(throttle, numbers[0], fault, 0.0) == "held"
    assert end(throttle, numbers[1], fault, 1.0) is None
    fill(throttle, 1.0)
    assert throttle.succeed(10.9) is None
    assert throttle.limit == 8
    assert throttle.wait(1, 1.0) == 0.0
    fill(throttle, 11.0)
    assert throttle.succeed(11.0) == "grown"
    assert throttle.limit == 9


def test_what_says_nothing_of_the_provider_changes_nothing() -> None:
    throttle, numbers = at_eight()
    for _ in numbers:
        throttle.abandon(0.0)
    assert throttle.limit == 8


@settings(deadline=None)
@given(
    st.integers(1, 40),
    st.integers(1, 50),
    st.floats(0.01, 90),
    st.lists(st.integers(0, 30), min_size=1, max_size=120),
)
def test_no_minute_sees_more_than_the_ceilings(
    most: int, rpm: int, seconds: float, tokens: list[int]
) -> None:
    tpm = 100
    times, _ = simulate(Throttle(most, rpm, tpm), tokens, lambda now, under_way: (seconds, None))
    assert most_within(times, [1] * len(times), 60.0) <= rpm
    assert most_within(times, tokens, 60.0) <= tpm
    assert most_within(times, [1] * len(times), 6.0) <= math.ceil(rpm / 10)
    assert most_within(times, [1] * len(times), seconds) <= most


def test_a_request_larger_than_the_ceiling_passes_alone() -> None:
    sent, _ = simulate(Throttle(8, tpm=100), [5, 1_000, 5], lambda now, under_way: (0.5, None))
    assert [math.floor(time) for time in sent] == [0, 60, 120]


def test_a_window_forgets_exactly_what_is_older_than_itself() -> None:
    window = Window(3, 10.0)
    window.add(1, 0.0)
    window.add(2, 4.0)
    assert window.wait(1, 4.0) == 6.0
    assert window.wait(2, 4.0) == 10.0
    assert window.wait(3, 9.0) == 5.0
    assert window.wait(1, 10.0) == 0.0
    assert window.wait(9, 14.0) == 0.0


@settings(deadline=None)
@given(st.integers(1, 30), st.integers(1, 32), st.sampled_from([None, 0.5, 7.0]))
def test_a_provider_that_bears_so_many_at_once_is_asked_for_more_once_a_minute_at_most(
    bears: int, most: int, retry_after: float | None
) -> None:
    throttle = Throttle(most, backoff=lambda number, asked: 0.5 * 2**number if asked is None else asked)

    def answer(now: float, under_way: int) -> tuple[float, Fault]:
        return (0.01, too_often(retry_after)) if under_way > bears else (1.0, None)

    _, ended = simulate(throttle, [1] * 300, answer)
    cuts = [time for time, _, change in ended if change == "cut"]
    assert all(later - earlier >= 60.0 for earlier, later in pairwise(cuts))
    assert (cuts == []) == (most <= bears)
    refused = [time for time, fault, _ in ended if fault is not None]
    # Slow start may send twice what is borne at once; later steps are by one, and a round may end in one instant.
    assert len(refused) <= 2 * bears + 2 * len(cuts)
