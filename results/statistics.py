"""Estimates and paired comparisons over questions (paper, appendix A.7; design, idea 7).

Arrays go in, small frozen records come out. A figure is NaN where it is missing: it is left out and counted,
never a zero. What is resampled is the *unit*: a question, or a whole conversation where questions share one
(`clusters`), since questions of one conversation succeed and fail together. One unit says nothing about the
spread of units: with fewer than two, an interval, a standard error and a p-value are NaN; with none, so is
the mean.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]

RESAMPLES = 10_000
SEED = 0
LEVEL = 0.95

_CHUNK = 2_000_000
"""Draws held at once: 10,000 resamples of any number of units need tens of megabytes, not gigabytes."""
_ROUNDING = 1e-12
"""A resampled difference this near to zero is zero, and not a crossing made by rounding."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean and how far to trust it.

    Attributes:
        n: Questions that have the figure.
        missing: Questions that lack it.
        units: What was resampled: conversations, or as many questions as `n`.
        mean: Over the `n` questions.
        sem: Standard error of the mean (one sigma), over units.
        low: Lower end of the percentile bootstrap interval.
        high: Its upper end.
    """

    n: int
    missing: int
    units: int
    mean: float
    sem: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """A minus B over the questions that both have.

    Attributes:
        n: Pairs with both sides.
        missing: Pairs with a side missing.
        units: What was resampled: conversations, or as many questions as `n`.
        a: Mean of A over the `n` pairs.
        b: Mean of B over the same pairs.
        difference: Their difference.
        low: Lower end of the percentile bootstrap interval of the difference.
        high: Its upper end.
        p: Two-sided: twice the smaller share of resampled differences on one side of zero (zero counted on
            both), capped at 1. Zero means below 2 / resamples.
    """

    n: int
    missing: int
    units: int
    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero, which is the paper's star."""
        return self.low > 0 or self.high < 0


@dataclass(frozen=True, slots=True)
class Proportion:
    """A share of successes with its Wilson score interval."""

    n: int
    successes: int
    share: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class McNemar:
    """Exact test of two verdicts on the same questions.

    Attributes:
        n: Pairs with two verdicts.
        missing: Pairs without.
        only_a: Pairs that A alone has right.
        only_b: Pairs that B alone has right.
        p: Two-sided binomial probability of a split as uneven as this; 1 where the verdicts never differ.
    """

    n: int
    missing: int
    only_a: int
    only_b: int
    p: float


def estimates(
    columns: Mapping[str, npt.ArrayLike],
    clusters: Sequence[Any] | None = None,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
) -> dict[str, Estimate]:
    """Mean, standard error and percentile bootstrap interval of each metric.

    Args:
        columns: By metric, one figure a question, shape (questions,); NaN is missing.
        clusters: By question, the conversation it belongs to; none makes each question its own.
        resamples: How many resamples are drawn.
        level: Of the interval.
        seed: Of the resampling; metrics with the same questions share the same resamples.

    Raises:
        ValueError: If the columns or the clusters differ in length.
    """
    figures = {name: np.asarray(column, np.float64) for name, column in columns.items()}
    drawn = _bootstrap(figures, clusters, resamples, seed)
    found = {}
    for name, figure in figures.items():
        sample = drawn[name]
        low, high = _percentiles(sample.means, level)
        found[name] = Estimate(
            n=sample.n,
            missing=figure.size - sample.n,
            units=sample.sizes.size,
            mean=sample.mean,
            sem=_sem(sample),
            low=low,
            high=high,
        )
    return found


def paired_differences(
    a: Mapping[str, npt.ArrayLike],
    b: Mapping[str, npt.ArrayLike],
    clusters: Sequence[Any] | None = None,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
) -> dict[str, PairedDifference]:
    """Paired bootstrap of A minus B for each metric of A (paper, appendix A.7).

    Args:
        a: By metric, one figure a question, shape (questions,); NaN is missing.
        b: The same metrics of the same questions in the same order.
        clusters: By question, the conversation it belongs to; none makes each question its own.
        resamples: How many resamples are drawn.
        level: Of the interval.
        seed: Of the resampling; metrics with the same pairs share the same resamples.

    Raises:
        ValueError: If columns or clusters differ in length.
    """
    left = {name: np.asarray(column, np.float64) for name, column in a.items()}
    right = {name: np.asarray(b[name], np.float64) for name in left}
    _same_length([*left.values(), *right.values()], clusters)
    differences = {name: left[name] - right[name] for name in left}
    drawn = _bootstrap(differences, clusters, resamples, seed)
    return {name: _difference(left[name], right[name], drawn[name], level) for name in differences}


def wilson(successes: int, n: int, level: float = LEVEL) -> Proportion:
    """A proportion with its Wilson score interval, which cannot leave [0, 1]; all NaN where n is 0.

    Raises:
        ValueError: If `successes` is not within [0, n].
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    if n == 0:
        return Proportion(0, 0, math.nan, math.nan, math.nan)
    interval = stats.binomtest(successes, n).proportion_ci(level, method="wilson")
    return Proportion(n, successes, successes / n, float(interval.low), float(interval.high))


def mcnemar(a: npt.ArrayLike, b: npt.ArrayLike) -> McNemar:
    """McNemar's exact test on verdicts 1 and 0, NaN where there is none.

    It takes every question as its own unit: where questions share a conversation its p is too small.

    Raises:
        ValueError: If the lengths differ, or a verdict is neither 1, 0 nor NaN.
    """
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    _same_length([left, right], None)
    both = ~(np.isnan(left) | np.isnan(right))
    left, right = left[both], right[both]
    if not (is_binary(left) and is_binary(right)):
        raise ValueError("a verdict is neither 1 nor 0")
    only_a, only_b = int((left > right).sum()), int((left < right).sum())
    split = only_a + only_b
    p = float(stats.binomtest(only_a, split).pvalue) if split else 1.0
    return McNemar(int(both.sum()), int((~both).sum()), only_a, only_b, p)


def is_binary(figures: Floats) -> bool:
    """Whether all figures that are there are 1 or 0."""
    return bool(np.isin(figures[~np.isnan(figures)], (0.0, 1.0)).all())


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values of one family, in the order given; NaN stays NaN, outside the family."""
    order = sorted((p, place) for place, p in enumerate(p_values) if not math.isnan(p))
    adjusted = [math.nan] * len(p_values)
    reached = 0.0
    for step, (p, place) in enumerate(order):
        reached = max(reached, min(1.0, p * (len(order) - step)))
        adjusted[place] = reached
    return adjusted


def _difference(a: Floats, b: Floats, sample: _Sample, level: float) -> PairedDifference:
    """The comparison of one metric, from the resampled differences of A and B."""
    both = ~np.isnan(a - b)
    low, high = _percentiles(sample.means, level)
    return PairedDifference(
        n=sample.n,
        missing=a.size - sample.n,
        units=sample.sizes.size,
        a=_mean(a[both]),
        b=_mean(b[both]),
        difference=sample.mean,
        low=low,
        high=high,
        p=_two_sided(sample.means),
    )


# --- the resampling ---


@dataclass(frozen=True, slots=True)
class _Sample:
    """One metric summed by unit, shape (units,), and its resampled means, shape (resamples,)."""

    sums: Floats
    sizes: Floats
    means: Floats

    @property
    def n(self) -> int:
        return int(self.sizes.sum())

    @property
    def mean(self) -> float:
        return float(self.sums.sum() / self.sizes.sum()) if self.sizes.size else math.nan


def _bootstrap(
    figures: Mapping[str, Floats], clusters: Sequence[Any] | None, resamples: int, seed: int
) -> dict[str, _Sample]:
    """Resample units with replacement, once for all metrics that are there for the same questions.

    A resampled mean is the ratio of the drawn units' sums to their sizes: each question weighs the same.
    """
    _same_length(list(figures.values()), clusters)
    together: dict[bytes, list[str]] = {}
    for name, figure in figures.items():
        together.setdefault(np.isnan(figure).tobytes(), []).append(name)
    samples = {}
    for names in together.values():
        there = ~np.isnan(figures[names[0]])
        table = np.stack([figures[name][there] for name in names], axis=1)
        sums, sizes = _by_unit(table, None if clusters is None else _codes(clusters)[there])
        means = _resampled_means(sums, sizes, resamples, np.random.default_rng(seed))
        for column, name in enumerate(names):
            samples[name] = _Sample(sums[:, column], sizes, means[:, column])
    return samples


def _same_length(figures: Sequence[Floats], clusters: Sequence[Any] | None) -> None:
    lengths = {figure.shape for figure in figures}
    if clusters is not None:
        lengths.add((len(clusters),))
    if len(lengths) > 1 or any(len(shape) != 1 for shape in lengths):
        raise ValueError(f"one figure a question is needed, not arrays of shapes {sorted(lengths)}")


def _codes(clusters: Sequence[Any]) -> npt.NDArray[np.int64]:
    """Clusters numbered in the order of their first question."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(cluster, len(numbers)) for cluster in clusters], np.int64)


def _by_unit(table: Floats, codes: npt.NDArray[np.int64] | None) -> tuple[Floats, Floats]:
    """Sums, shape (units, metrics), and sizes, shape (units,), of the units that have questions left."""
    if codes is None:
        return table, np.ones(len(table))
    units, place = np.unique(codes, return_inverse=True)
    sums = np.zeros((units.size, table.shape[1]))
    np.add.at(sums, place, table)
    return sums, np.bincount(place, minlength=units.size).astype(np.float64)


def _resampled_means(sums: Floats, sizes: Floats, resamples: int, random: np.random.Generator) -> Floats:
    """Means of resamples, shape (resamples, metrics); NaN under two units.

    Counting how often each unit was drawn makes all metrics one matrix product.
    """
    units = sizes.size
    means = np.full((resamples, sums.shape[1]), math.nan)
    if units < 2:
        return means
    rows = max(1, _CHUNK // units)
    for start in range(0, resamples, rows):
        count = min(rows, resamples - start)
        drawn = random.integers(0, units, size=(count, units))
        drawn += np.arange(count)[:, None] * units
        times = np.bincount(drawn.ravel(), minlength=count * units).reshape(count, units).astype(np.float64)
        means[start : start + count] = (times @ sums) / (times @ sizes)[:, None]
    return means


def _percentiles(means: Floats, level: float) -> tuple[float, float]:
    tail = (1 - level) / 2
    low, high = np.quantile(means, [tail, 1 - tail])
    return float(low), float(high)


def _two_sided(differences: Floats) -> float:
    if np.isnan(differences).any():
        return math.nan
    below, above = np.mean(differences <= _ROUNDING), np.mean(differences >= -_ROUNDING)
    return min(1.0, 2 * float(min(below, above)))


def _mean(figures: Floats) -> float:
    return float(figures.mean()) if figures.size else math.nan


def _sem(sample: _Sample) -> float:
    """Standard error of a ratio of unit sums to unit sizes; with units of one question, s / sqrt(n)."""
    units = sample.sizes.size
    if units < 2:
        return math.nan
    residuals = sample.sums - sample.mean * sample.sizes
    return float(np.sqrt(units / (units - 1) * (residuals**2).sum()) / sample.sizes.sum())
