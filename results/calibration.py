"""Choosing similarity thresholds on labelled pairs, and what they do to pairs that had no say in the choice.

Pairs are a frame with a row a pair and the columns `family`, `half` (`choose` or `report`), `purpose` (`dedup` or
`floor`), `match` (whether the two belong together) and `cosine`. A pair passes a threshold that it equals.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt
import pandas as pd

from results.statistics import wilson

FALSE_MERGE_COST = 5
"""Missed merges that a false merge outweighs. The paper only says that it weighs more (appendix A.2): it joins two
entities for good, with all their edges, and a missed merge leaves a duplicate that retrieval still finds."""
KEPT = 0.95
"""Share of the nodes asked for that the floor lets through. A node lost here is lost to the answer, and one too many
is still outranked: only the best few become roots."""
RESAMPLES = 1_000
_GRID = np.arange(1, 101) / 100

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Choice:
    """A threshold, with the 95 % percentile interval of what resampled families would have chosen."""

    threshold: float
    low: float
    high: float


def choose_dedup(pairs: pd.DataFrame, *, seed: int = 0) -> Choice:
    """The threshold at which the choosing half's pairs cost least; the highest of several.

    A pair of two entities that passes costs `FALSE_MERGE_COST`, a pair of one entity that does not costs 1.
    """
    own = pairs[(pairs["purpose"] == "dedup") & (pairs["half"] == "choose")]
    merged, named = _passing(own, match=True)
    false, _ = _passing(own, match=False)
    cost = FALSE_MERGE_COST * false + named[:, None] - merged

    def chosen(weights: Doubles) -> Doubles:
        falling = (weights @ cost)[:, ::-1]
        thresholds: Doubles = _GRID[::-1][falling.argmin(axis=1)]
        return thresholds

    return _choice(chosen, len(cost), seed)


def choose_floor(pairs: pd.DataFrame, *, seed: int = 0) -> Choice:
    """The highest floor that the share `KEPT` of the choosing half's nodes asked for passes; the lowest if none."""
    own = pairs[(pairs["purpose"] == "floor") & (pairs["half"] == "choose")]
    kept, asked = _passing(own, match=True)

    def chosen(weights: Doubles) -> Doubles:
        enough = weights @ kept >= KEPT * (weights @ asked)[:, None]
        thresholds: Doubles = _GRID[np.maximum(enough.sum(axis=1) - 1, 0)]
        return thresholds

    return _choice(chosen, len(kept), seed)


def curve(pairs: pd.DataFrame) -> pd.DataFrame:
    """What each threshold from 0.01 to 1 does to each half's pairs.

    Returns:
        A row for each `purpose`, `half` and `threshold`: of `matches` pairs that belong together `kept` pass, of
        `others` that do not `let_in` pass; each share with Wilson's 95 % interval, which takes each pair as its own
        unit.
    """
    proportion = lru_cache(maxsize=None)(wilson)  # thresholds apart pass the same pairs
    rows = []
    for (purpose, half), own in pairs.groupby(["purpose", "half"], sort=True):
        for threshold in _GRID:
            passing = own["cosine"] >= threshold
            kept = proportion(int((passing & own["match"]).sum()), int(own["match"].sum()))
            let_in = proportion(int((passing & ~own["match"]).sum()), int((~own["match"]).sum()))
            rows.append(
                {
                    "purpose": purpose,
                    "half": half,
                    "threshold": float(threshold),
                    "matches": kept.n,
                    "kept": kept.successes,
                    "kept_share": kept.share,
                    "kept_low": kept.low,
                    "kept_high": kept.high,
                    "others": let_in.n,
                    "let_in": let_in.successes,
                    "let_in_share": let_in.share,
                    "let_in_low": let_in.low,
                    "let_in_high": let_in.high,
                }
            )
    return pd.DataFrame(rows)


def _passing(pairs: pd.DataFrame, *, match: bool) -> tuple[Doubles, Doubles]:
    """Of each family's pairs, how many pass each threshold, `(families, thresholds)`, and how many there are."""
    codes, families = pd.factorize(pairs["family"])
    wanted = (pairs["match"] == match).to_numpy()
    passing, there = np.zeros((len(families), len(_GRID))), np.zeros(len(families))
    cosines = pairs["cosine"].to_numpy(dtype=float)[wanted, None]
    np.add.at(passing, codes[wanted], cosines >= _GRID)
    np.add.at(there, codes[wanted], 1)
    return passing, there


def _choice(chosen: Callable[[Doubles], Doubles], families: int, seed: int) -> Choice:
    """The choice of all families, and how it moves when they are drawn with replacement.

    Args:
        chosen: From weights of the families, `(draws, families)`, to a threshold for each draw.
        families: How many there are.
        seed: Of the draws.
    """
    if not families:
        raise ValueError("no pairs to choose a threshold on")
    draws = np.random.default_rng(seed).multinomial(families, [1 / families] * families, RESAMPLES)
    low, high = np.quantile(chosen(draws.astype(float)), [0.025, 0.975], method="nearest")
    return Choice(float(chosen(np.ones((1, families)))[0]), float(low), float(high))
