"""Thresholds that a probe has found for an embedder, as the TOML file that `palimpsest calibrate --to` writes."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field

from memory.calibration import Thresholds, calibrated_on
from tasks.toml_file import read_as


class ProbedThresholds(BaseModel):
    """Thresholds of one embedder, and the pairs that chose them."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    embedder: str = Field(description="provider:model, as the study names it.")
    dedup: float = Field(gt=0, le=1, description="Cosine from which two descriptors name one entity.")
    floor: float = Field(ge=-1, le=1, description="Cosine from which a node may be a root of retrieval.")
    dedup_pairs: int = Field(ge=1, description="Descriptor pairs that chose `dedup`.")
    floor_pairs: int = Field(ge=1, description="Question and node pairs that chose `floor`.")
    probe: str = Field(description="Which pairs these were: the first digits of the hash of their file.")

    @property
    def thresholds(self) -> Thresholds:
        """The two, with what they stand on."""
        basis = f"{calibrated_on(self.dedup_pairs, self.floor_pairs)}, given with the study"
        return Thresholds(self.dedup, self.floor, basis)

    def toml(self) -> str:
        """The file's text."""
        return (
            "# Thresholds for `palimpsest run ... --thresholds FILE`, written by `palimpsest calibrate`. They were\n"
            "# chosen on one half of the probe's families; what they do to the other half was printed with them.\n"
            f"embedder = {json.dumps(self.embedder, ensure_ascii=False)}\n"
            f"dedup = {self.dedup}\n"
            f"floor = {self.floor}\n"
            f"dedup_pairs = {self.dedup_pairs}\n"
            f"floor_pairs = {self.floor_pairs}\n"
            f"probe = {json.dumps(self.probe)}\n"
        )


def read_thresholds(path: Path) -> ProbedThresholds:
    """Thresholds from a TOML file.

    Raises:
        BadInput: Naming the field that is wrong.
    """
    return read_as(path, ProbedThresholds)
