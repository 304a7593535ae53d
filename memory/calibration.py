"""Similarity thresholds, embedder by embedder: a cosine of 0.75 means another thing to another model."""

from __future__ import annotations

from dataclasses import dataclass

from memory.errors import BadInput


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Cosine similarities.

    Attributes:
        dedup: From here on two descriptors name the same entity.
        floor: From here on a stored node may be a root of retrieval.
        basis: What they stand on, in words; of an `ESTIMATE`, a run warns.
    """

    dedup: float
    floor: float
    basis: str


PAPER = "paper"
"""The basis of what the Selective Forgetting paper sets."""


def calibrated_on(dedup_pairs: int, floor_pairs: int) -> str:
    """The basis of thresholds that so many pairs have chosen, by the probe of appendix A.5."""
    return f"calibrated on {dedup_pairs} descriptor and {floor_pairs} question pairs"


ESTIMATE = "estimate, not probed"
"""The basis of what no labelled pairs have chosen."""

# By the name that a model has in an embedder's `provider:model`, without a tag such as `:latest`.
CALIBRATED = {
    "nomic-embed-text": Thresholds(dedup=0.92, floor=0.75, basis=PAPER),  # section 3.4 and 3.5
    # What `palimpsest calibrate --embedder offline:minilm` recommends.
    "minilm": Thresholds(dedup=0.94, floor=0.34, basis=calibrated_on(200, 100)),
    # What `palimpsest calibrate --embedder offline:static` recommends: averaged token vectors cannot tell near misses
    # from paraphrases, so that only descriptors of the same words are merged.
    "static": Thresholds(dedup=1.0, floor=0.20, basis=calibrated_on(200, 100)),
    # Not probed yet: `palimpsest calibrate --embedder openai:... --to FILE` does it, for a fraction of a cent.
    "text-embedding-3-small": Thresholds(dedup=0.88, floor=0.40, basis=ESTIMATE),
    "text-embedding-3-large": Thresholds(dedup=0.88, floor=0.40, basis=ESTIMATE),
}


def calibrated(embedder: str) -> Thresholds:
    """The thresholds of an embedder, by its name.

    Raises:
        BadInput: If nobody has calibrated it.
    """
    model = embedder.split(":")[1] if ":" in embedder else embedder
    if model in CALIBRATED:
        return CALIBRATED[model]
    known = ", ".join(CALIBRATED)
    raise BadInput(
        f"embedder {embedder}: no calibrated thresholds (known: {known}); find them with `palimpsest calibrate"
        f" --embedder {embedder} --to FILE` and give them with --thresholds FILE, or set dedup_threshold and"
        " retrieval_floor in the graph's settings"
    )
