"""Timing for the benchmarks: medians, and ratios against a reference in the same run. Nothing is asserted."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable


def seconds(
    work: Callable[[], object], runs: int = 5, clock: Callable[[], float] = time.perf_counter
) -> float:
    """Median seconds of a call by a clock, after one that is not counted."""
    work()
    took = []
    for _ in range(runs):
        begun = clock()
        work()
        took.append(clock() - begun)
    return statistics.median(took)


def show(what: str, ours: float, reference: str, theirs: float) -> None:
    """One line: our time, the reference's, and how many times faster."""
    print(
        f"{what}: {ours * 1e3:,.2f} ms; {reference}: {theirs * 1e3:,.2f} ms; {theirs / ours:,.1f} times faster"
    )
