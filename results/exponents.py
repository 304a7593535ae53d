"""How a cost grows: the exponent of a power law, and Table 4 of the Selective Forgetting paper beside it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.stats import t

from results.paper_tables import PaperTable
from results.rendering import interval, number

LEAST_SIZES = 6
"""With fewer sizes the interval, which rests on two degrees of freedom less, says next to nothing."""


@dataclass(frozen=True, slots=True)
class Exponent:
    """The b of cost = a · size^b.

    Attributes:
        value: b.
        low: Lower end of its 95 % interval.
        high: Upper end.
    """

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Growth:
    """What was found of one stage as one variable grew.

    Attributes:
        stage: Name of the stage.
        cost: What the paper's Table 4 says that it costs; empty where it has no such stage.
        variable: What grew, such as `nodes`.
        smallest: The first size.
        largest: The last.
        stated: The variable's exponent in the paper's cost, 0 where the cost does not name it; none where the
            paper has no such stage.
        seconds: Of the processor, at the last size.
        measured: The exponent found.
    """

    stage: str
    cost: str
    variable: str
    smallest: int
    largest: int
    stated: float | None
    seconds: float
    measured: Exponent


def fit_exponent(sizes: npt.ArrayLike, costs: npt.ArrayLike) -> Exponent:
    """Least squares through the logarithms, with Student's interval of the slope on n - 2 degrees of freedom.

    The interval holds if the costs scatter about a power law. A fixed cost beside it bends the line: the exponent is
    then too low, and the interval wider than the scatter alone would make it.

    Args:
        sizes: `(n,)`, positive.
        costs: `(n,)`, positive, in any unit.

    Raises:
        ValueError: If the two differ in length, one is not positive and finite, or fewer than `LEAST_SIZES` sizes
            differ.
    """
    x, y = np.asarray(sizes, np.float64), np.asarray(costs, np.float64)
    if x.ndim != 1 or x.shape != y.shape:
        raise ValueError(f"sizes of shape {x.shape} and costs of shape {y.shape} are no pairs")
    if not (np.isfinite([x, y]).all() and (x > 0).all() and (y > 0).all()):
        raise ValueError("sizes and costs must be positive and finite")
    if len(np.unique(x)) < LEAST_SIZES:
        raise ValueError(f"an exponent needs at least {LEAST_SIZES} different sizes, not {len(np.unique(x))}")
    # Not scipy's linregress: its error of the slope comes from the correlation, which a constant cost has not.
    (slope, _), covariance = np.polyfit(np.log(x), np.log(y), 1, cov=True)
    half = t.ppf(0.975, len(x) - 2) * np.sqrt(covariance[0, 0])
    return Exponent(float(slope), float(slope - half), float(slope + half))


def table_4(growths: Sequence[Growth]) -> PaperTable:
    """What the paper says that each stage costs, beside the exponents found.

    `data` has a row a stage and variable, with the columns of `Growth` and `exponent`, `low`, `high` for what was
    measured.
    """
    records = []
    for growth in growths:
        record = asdict(growth)
        found = record.pop("measured")
        records.append({**record, "exponent": found["value"], "low": found["low"], "high": found["high"]})
    return PaperTable(
        name="table_4",
        caption="Cost of each stage: the paper's, and the exponents measured on growing graphs (slope of the log-log "
        "fit with its 95 % interval). N nodes, M edges, d dimensions, k entities and l relations of a turn, q "
        "entities of a question, S the subgraph recalled.",
        data=pd.DataFrame(records),
        header=(
            "stage",
            "paper",
            "grows with",
            "from",
            "to",
            "paper's exponent",
            "measured",
            "95 %",
            "CPU ms at the last",
        ),
        rows=tuple(_row(growth) for growth in growths),
    )


def _row(growth: Growth) -> tuple[str, ...]:
    found = growth.measured
    return (
        growth.stage,
        growth.cost or "–",
        growth.variable,
        f"{growth.smallest:,}",
        f"{growth.largest:,}",
        "–" if growth.stated is None else f"{growth.stated:g}",
        number(found.value, 2),
        interval(found.low, found.high),
        f"{growth.seconds * 1e3:,.3g}",
    )
