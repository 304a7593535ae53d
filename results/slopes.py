"""How a figure changes from step to step: least squares, with whole conversations resampled."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from results.statistics import LEVEL, RESAMPLES, SEED

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope of a line through points.

    Attributes:
        n: Points.
        units: What was resampled: the conversations that they are from.
        slope: Change of the figure a step; NaN where all points are of one step.
        low: Lower end of the 95 % percentile bootstrap interval; NaN with fewer than two conversations.
        high: Its upper end.
    """

    n: int
    units: int
    slope: float
    low: float
    high: float


def slope(
    steps: npt.ArrayLike,
    figures: npt.ArrayLike,
    clusters: Sequence[Any],
    *,
    within: bool = False,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> Slope:
    """The slope of figures over steps, one of each a question, shape `(questions,)`; a NaN figure is left out.

    Args:
        steps: When each question was asked.
        figures: What is followed over the steps.
        clusters: By question, the conversation that it belongs to.
        within: Compare each conversation with itself alone (its own means are taken off): where only some of them
            have late steps, a difference between these and the others is no change.
        resamples: How many resamples of conversations are drawn.
        seed: Of the resampling.

    Raises:
        ValueError: If the three differ in length.
    """
    x, y = np.asarray(steps, np.float64), np.asarray(figures, np.float64)
    if not x.shape == y.shape == (len(clusters),):
        raise ValueError(
            f"{x.size} steps, {y.size} figures and {len(clusters)} clusters: they must be as many"
        )
    there = ~np.isnan(y)
    if not there.any():
        return Slope(0, 0, math.nan, math.nan, math.nan)
    units, codes = np.unique(np.asarray(clusters)[there], return_inverse=True)
    x, y = x[there], y[there]
    if within:
        x, y = _centred(x, codes), _centred(y, codes)
    moments = np.zeros((units.size, 5))
    np.add.at(moments, codes, np.stack([np.ones_like(x), x, y, x * x, x * y], axis=1))
    drawn = np.random.default_rng(seed).multinomial(
        units.size, np.full(units.size, 1 / units.size), resamples
    )
    found = _slopes(drawn @ moments)
    found = found[~np.isnan(found)]  # a resample of one step has no slope
    known = units.size > 1 and found.size > 0
    tail = (1 - LEVEL) / 2
    low, high = np.quantile(found, [tail, 1 - tail]) if known else (math.nan, math.nan)
    return Slope(y.size, units.size, float(_slopes(moments.sum(axis=0))), float(low), float(high))


def _centred(values: Floats, codes: npt.NDArray[np.intp]) -> Floats:
    """Values less the mean of their cluster."""
    means = np.bincount(codes, values) / np.bincount(codes)
    return values - means[codes]


def _slopes(moments: Floats) -> Floats:
    """Slopes from count, sum of x, of y, of x², of xy in the last axis; NaN where x does not vary."""
    n, x, y, xx, xy = np.moveaxis(moments, -1, 0)
    spread = n * xx - x * x
    varies = spread > 1e-9 * n * n
    return np.where(varies, n * xy - x * y, math.nan) / np.where(varies, spread, 1.0)
