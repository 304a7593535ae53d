"""10,000 paired resamples of 500 questions and 4 metrics, against one index draw a resample in a Python loop."""

from __future__ import annotations

import numpy as np

from results.statistics import paired_differences
from tests.benchmarks.timing import seconds, show

QUESTIONS, RESAMPLES, METRICS = 500, 10_000, 4


def main() -> None:
    random = np.random.default_rng(0)
    a = {f"m{i}": random.random(QUESTIONS) for i in range(METRICS)}
    b = {f"m{i}": random.random(QUESTIONS) for i in range(METRICS)}

    def loop() -> None:
        for name, figures in a.items():
            difference = figures - b[name]
            draws = np.random.default_rng(0)
            means = [difference[draws.integers(0, QUESTIONS, QUESTIONS)].mean() for _ in range(RESAMPLES)]
            np.percentile(means, [2.5, 97.5])

    ours = seconds(lambda: paired_differences(a, b, resamples=RESAMPLES))
    show("paired bootstrap", ours, "a loop over resamples", seconds(loop, 2))


if __name__ == "__main__":
    main()
