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
        probed: Whether they come from a probe of labelled pairs; if not, they are an estimate, and a run says so.
    """

    dedup: float
    floor: float
    probed: bool = True


# By the name that a model has in an embedder's `provider:model`, without a tag such as `:latest`.
CALIBRATED = {
    "nomic-embed-text": Thresholds(dedup=0.92, floor=0.75),  # the paper, section 3.4 and 3.5
    # The probe of appendix A.5 on tests/fixtures/descriptor_pairs.json: 0.88 merges 35 of 40 pairs of the same
    # entity and none of 42 near ones; 0.40 keeps 19 of 20 nodes that a question asks for and 1 of 20 others.
    "minilm": Thresholds(dedup=0.88, floor=0.40),
    # OpenAI's models spread cosines about as MiniLM does, which is all that these stand on.
    "text-embedding-3-small": Thresholds(dedup=0.88, floor=0.40, probed=False),
    "text-embedding-3-large": Thresholds(dedup=0.88, floor=0.40, probed=False),
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
        f"embedder {embedder}: no calibrated thresholds (known: {known});"
        " set dedup_threshold and retrieval_floor in the graph's settings"
    )
