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
        basis: What they stand on, in words, such as `paper`.
        probed: Whether they come from a probe of labelled pairs; if not, they are an estimate, and a run says so.
    """

    dedup: float
    floor: float
    basis: str
    probed: bool = True


PAPER = "paper"
"""The basis of what the Selective Forgetting paper sets."""


def calibrated_on(dedup_pairs: int, floor_pairs: int) -> str:
    """The basis of thresholds that so many pairs have chosen, by the probe of appendix A.5."""
    return f"calibrated on {dedup_pairs} descriptor and {floor_pairs} question pairs"


_ESTIMATE = "estimate, not probed"

# By the name that a model has in an embedder's `provider:model`, without a tag such as `:latest`.
CALIBRATED = {
    "nomic-embed-text": Thresholds(dedup=0.92, floor=0.75, basis=PAPER),  # section 3.4 and 3.5
    # What `palimpsest calibrate --embedder offline:minilm` recommends.
    "minilm": Thresholds(dedup=0.88, floor=0.40, basis=calibrated_on(200, 100)),
    # OpenAI's models spread cosines about as MiniLM does, which is all that these stand on.
    "text-embedding-3-small": Thresholds(dedup=0.88, floor=0.40, basis=_ESTIMATE, probed=False),
    "text-embedding-3-large": Thresholds(dedup=0.88, floor=0.40, basis=_ESTIMATE, probed=False),
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
