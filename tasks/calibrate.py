"""The threshold probe of the paper's appendix A.5, for any embedder: cosines of labelled pairs and their choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from memory.errors import CallFailed, CallRefused
from memory.models import Embedder
from results.calibration import Choice, choose_dedup, choose_floor, curve
from tasks.models.bundles import embedder as open_embedder
from tasks.models.gateway import Gateway, Place
from tasks.models.ledger import Ledger, Totals
from tasks.models.store import Store
from tasks.probe import SEED, Pair, pairs, probe_hash
from tasks.thresholds import ProbedThresholds

RUN = "calibrate"
"""The name under which the ledger has the calls."""


@dataclass(frozen=True)
class Calibration:
    """What the probe says of an embedder.

    Attributes:
        found: The thresholds that the choosing half recommends.
        dedup, floor: The same with their intervals over resampled families.
        pairs: Every pair with its `cosine`; columns as `tasks.probe.Pair`.
        curve: See `results.calibration.curve`.
        spent: What the vectors took.
    """

    found: ProbedThresholds
    dedup: Choice
    floor: Choice
    pairs: pd.DataFrame
    curve: pd.DataFrame
    spent: Totals


def calibrate(name: str, store: Path) -> Calibration:
    """Probe an embedder; texts whose vectors are in the store are not bought again.

    Args:
        name: The embedder as `provider:model` or `provider:model@dimensions`.
        store: Folder of calls.

    Raises:
        BadInput: If there is no such embedder, or its key or package is missing.
        CallRefused: If some text could not be embedded; what is bought is kept.
    """
    ledger = Ledger(store)
    with Gateway(Store(store), ledger, RUN) as gateway:
        probed = with_cosines(pairs(), open_embedder(gateway, name, Place(RUN)))
        spent = ledger.totals(now=True)
    return calibration_of(name, probed, spent)


def calibration_of(name: str, probed: pd.DataFrame, spent: Totals) -> Calibration:
    """What pairs with their cosines say of an embedder."""
    dedup, floor = choose_dedup(probed, seed=SEED), choose_floor(probed, seed=SEED)
    choosing = probed[probed["half"] == "choose"]["purpose"].value_counts()
    found = ProbedThresholds(
        embedder=name,
        dedup=dedup.threshold,
        floor=floor.threshold,
        dedup_pairs=int(choosing["dedup"]),
        floor_pairs=int(choosing["floor"]),
        probe=probe_hash(),
    )
    return Calibration(found, dedup, floor, probed, curve(probed), spent)


def with_cosines(labelled: Sequence[Pair], model: Embedder) -> pd.DataFrame:
    """The pairs as a frame, each with the cosine of its two texts.

    Raises:
        CallRefused: If a text has no vector: a threshold of other pairs would be another threshold.
    """
    texts = list(dict.fromkeys(text for pair in labelled for text in (pair.a, pair.b)))
    try:
        embedded = model.embed(texts)
    except CallFailed as error:
        raise CallRefused(f"{error.reason}; what is bought is kept, the same command goes on") from error
    if embedded.failures:
        place, reason = next(iter(embedded.failures.items()))
        raise CallRefused(
            f"{model.name}: no vector for {len(embedded.failures)} of the probe's {len(texts)} texts, such as "
            f"{texts[place]!r}: {reason}"
        )
    vectors = np.asarray(embedded.vectors, np.float64)
    rows = dict(zip(texts, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), strict=True))
    return pd.DataFrame([{**asdict(pair), "cosine": float(rows[pair.a] @ rows[pair.b])} for pair in labelled])
