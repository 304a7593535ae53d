"""What ranks say of each question, as columns: the figures of a frontier that need no language model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from memory.forgetting.ragged import Ints, Mask, Ragged

Doubles = npt.NDArray[np.float64]
CUTOFFS = (1, 5, 10)


@dataclass(frozen=True, slots=True)
class Figures:
    """Columns with a row for each question; NaN for one without evidence, as there is nothing to find.

    Attributes:
        survival: The share of its evidence turns that something live stands on.
        recall: By cutoff k, the share of its evidence turns among the first k.
        reciprocal_rank: One over the rank of the first evidence; zero if none was recalled. Its mean is MRR.
    """

    survival: Doubles
    recall: dict[int, Doubles]
    reciprocal_rank: Doubles


def figures(evidence: Ragged, ranks: Ints, survived: Mask, cutoffs: Sequence[int] = CUTOFFS) -> Figures:
    """The figures of every question, as `results.retrieval_metrics` defines them for one.

    Args:
        evidence: Of each question, its distinct evidence turns.
        ranks: Of each of `evidence.items`, its rank from 1; 0 if it was not recalled.
        survived: Of each of `evidence.items`, whether something live stands on it.
        cutoffs: The values of k.
    """
    count = np.where(evidence.lengths > 0, evidence.lengths, np.nan)
    recalled = ranks > 0
    best = np.where(evidence.lengths > 0, 0.0, np.nan)
    np.fmax.at(best, evidence.owners[recalled], 1 / ranks[recalled])
    return Figures(
        survival=evidence.counts(survived) / count,
        recall={k: evidence.counts(recalled & (ranks <= k)) / count for k in cutoffs},
        reciprocal_rank=best,
    )
