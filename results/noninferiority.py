"""Whether a loss stays within a margin, and how small a loss this many questions could have shown.

"Not significant" is no evidence of no loss: few questions make everything not significant. Non-inferiority asks the
question the other way round: the whole one-sided interval must lie above minus the margin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import stats

from results.statistics import RESAMPLES, SEED, estimates, paired_differences

ALPHA = 0.05
POWER = 0.80


@dataclass(frozen=True, slots=True)
class NonInferiority:
    """A minus B, seen as a loss.

    Attributes:
        n: Pairs with both sides.
        a: Mean of A over the pairs.
        b: Mean of B over the same pairs.
        difference: Their difference; negative is a loss.
        lower: Lower end of the one-sided 95 % percentile interval of the difference.
        margin: The largest loss that counts as none.
        non_inferior: Whether `lower` lies above minus `margin`.
        detectable: The smallest loss that this n would have shown at one-sided 5 % with a power of 80 %:
            (z of .95 + z of .80) standard errors of the difference.
    """

    n: int
    a: float
    b: float
    difference: float
    lower: float
    margin: float
    non_inferior: bool
    detectable: float


def non_inferiority(
    a: npt.ArrayLike,
    b: npt.ArrayLike,
    margin: float,
    clusters: Sequence[Any] | None = None,
    *,
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> NonInferiority:
    """Test A against B, paired by question; NaN on a side leaves the pair out.

    Args:
        a: One figure a question.
        b: The same questions in the same order.
        margin: In the figure's own unit, positive.
        clusters: By question, the conversation it belongs to; none makes each question its own.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.

    Raises:
        ValueError: If the margin is not positive, or the lengths differ.
    """
    if not margin > 0:
        raise ValueError(f"a margin of {margin} is none: it must be positive")
    left, right = np.asarray(a, np.float64), np.asarray(b, np.float64)
    # A two-sided 90 % interval has the one-sided 95 % bound as its lower end.
    found = paired_differences(
        {"m": left}, {"m": right}, clusters, resamples=resamples, level=1 - 2 * ALPHA, seed=seed
    )["m"]
    spread = estimates({"m": left - right}, clusters, resamples=resamples, seed=seed)["m"].sem
    standard_errors = float(stats.norm.ppf(1 - ALPHA) + stats.norm.ppf(POWER))
    return NonInferiority(
        n=found.n,
        a=found.a,
        b=found.b,
        difference=found.difference,
        lower=found.low,
        margin=margin,
        non_inferior=bool(found.low > -margin),
        detectable=standard_errors * spread,
    )
