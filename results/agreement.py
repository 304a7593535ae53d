"""How far two raters agree, beyond chance: accuracy and Cohen's kappa, with bootstrap intervals by question."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from results.statistics import LEVEL, RESAMPLES, SEED, Floats


@dataclass(frozen=True, slots=True)
class Interval:
    """A figure with the ends of its percentile bootstrap interval; NaN where there is none."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far a rater agrees with another.

    Attributes:
        n: Verdicts that both gave.
        missing: Verdicts that one of them did not give.
        agreement: Share of the n on which they agree.
        kappa: Cohen's kappa (1960): 1 is full agreement, 0 what chance gives; NaN where both always say the same one
            thing, because chance alone would agree then.
    """

    n: int
    missing: int
    agreement: Interval
    kappa: Interval


def agreement(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    units: Sequence[str],
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    seed: int = SEED,
) -> Agreement:
    """How far the verdicts of A agree with those of B.

    Args:
        a: Verdicts 1 and 0, NaN where there is none, shape (verdicts,).
        b: The other rater's, in the same order.
        units: By verdict, what is resampled: its question, since verdicts of one question go together.
        resamples: How many resamples are drawn; with fewer than two units there is no interval.
        level: Of the percentile intervals.
        seed: Of the resampling.

    Raises:
        ValueError: If the lengths differ.
    """
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    if not left.shape == right.shape == (len(units),):
        raise ValueError(f"one unit a pair of verdicts is needed: {left.shape}, {right.shape}, {len(units)}")
    both = ~(np.isnan(left) | np.isnan(right))
    names, place = np.unique(np.array(units, object)[both], return_inverse=True)
    by_unit = np.zeros((names.size, 4))
    np.add.at(by_unit, place, _counts(left[both], right[both]))
    drawn = _resampled(by_unit, resamples, seed)
    tails = [(1 - level) / 2, (1 + level) / 2]

    def with_interval(statistic: Callable[[Floats], Floats]) -> Interval:
        value = float(statistic(by_unit.sum(axis=0)))
        if names.size < 2 or math.isnan(value):
            return Interval(value, math.nan, math.nan)
        low, high = np.nanquantile(statistic(drawn), tails)
        return Interval(value, float(low), float(high))

    return Agreement(int(both.sum()), int((~both).sum()), with_interval(_agreement), with_interval(_kappa))


def _counts(a: Floats, b: Floats) -> Floats:
    """By pair of verdicts: 1, whether they are the same, and each of the two; shape (pairs, 4)."""
    return np.stack([np.ones_like(a), a == b, a, b], axis=1)


def _resampled(by_unit: Floats, resamples: int, seed: int) -> Floats:
    """Counts summed over units that are drawn with replacement, shape (resamples, 4)."""
    units = len(by_unit)
    if not units:
        return np.zeros((resamples, 4))
    random = np.random.default_rng(seed)
    return random.multinomial(units, np.full(units, 1 / units), size=resamples).astype(np.float64) @ by_unit


def _agreement(counts: Floats) -> Floats:
    """Share of verdicts that are the same; counts have the shape (..., 4)."""
    total, same = counts[..., 0], counts[..., 1]
    return _ratio(same, total)


def _kappa(counts: Floats) -> Floats:
    """(observed - chance) / (1 - chance); counts have the shape (..., 4)."""
    total = counts[..., 0]
    observed, a, b = (_ratio(counts[..., column], total) for column in (1, 2, 3))
    chance = a * b + (1 - a) * (1 - b)
    return _ratio(observed - chance, 1 - chance)


def _ratio(over: Floats, under: Floats) -> Floats:
    """A division that is NaN where there is nothing to divide by."""
    ratio: Floats = np.full(np.shape(under), math.nan)
    np.divide(over, under, out=ratio, where=np.asarray(under) > 0)
    return ratio
