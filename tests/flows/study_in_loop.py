"""Runs a study in a plain loop, with no Prefect, and says what was made and what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pandas as pd

from tasks.context import closed_models
from tasks.kinds import make_study
from tasks.runs import Run
from tasks.stage import Artefact, Stage, Work, existing, perform
from tasks.start import carry_out, start
from tasks.study import condition_fields


@dataclass
class Watched:
    """A finished run, with the works that each stage made anew and those that it found."""

    folder: Path
    run: Run
    made: dict[str, list[str]] = field(default_factory=dict)
    found: dict[str, list[str]] = field(default_factory=dict)

    def table(self, name: str) -> pd.DataFrame:
        return pd.read_parquet(self.folder / f"{name}.parquet")

    @property
    def made_stages(self) -> list[str]:
        return [stage for stage, works in self.made.items() if works]


def run_in_loop(folder: Path, **fields: Any) -> Watched:
    """Run a study on the sample (or on `data`) with its store beside the run folder."""
    data = fields.pop("data", None)
    study = make_study(fields)
    out, run = start(study, data, folder / "store", folder / "run")
    watched = Watched(out, run)

    def execute(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        made = watched.made.setdefault(stage.name, [])
        found = watched.found.setdefault(stage.name, [])
        artefacts = []
        for work in works:
            (made if existing(work) is None else found).append(work.batch)
            artefacts.append(perform(stage, work))
        return artefacts

    with closed_models():
        watched.run = carry_out(out, run, execute, retry_failed=study.retry_failed)
    return watched


def conditions(*systems: str) -> list[dict[str, Any]]:
    """Conditions by `system` or `system:profile`."""
    return [dict(condition_fields(system)) for system in systems]
