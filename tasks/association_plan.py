"""The plan of the association study: GAAMA's arms, built once where they are built alike, answered, and searched by words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from memory.systems import find
from tasks import (
    answer,
    associate,
    bootstrap,
    embed,
    extract,
    hubs,
    judge,
    load,
    merge,
    recall,
    score,
    waterfall,
    waterfall_types,
    words,
)
from tasks.association_study import PUBLISHED, AssociationStudy
from tasks.memories import BESIDE
from tasks.plan import Batch, Execute, Plan
from tasks.runs import Run
from tasks.stage import Artefact, Work
from tasks.study import Condition


class AssociationPlan(Plan):
    """Walks the association study."""

    STAGES = tuple(
        step.STAGE
        for step in (
            load, extract, embed, merge, words, hubs, recall, answer, judge, score, waterfall, waterfall_types,
            bootstrap, associate,
        )
    )  # fmt: skip

    def __init__(self, folder: Path, run: Run, execute: Execute, *, retry_failed: bool = False) -> None:
        super().__init__(folder, run, execute, retry_failed=retry_failed)
        if not isinstance(run.study, AssociationStudy):
            raise TypeError(f"{run.study.study} is no association study")
        self._association = run.study

    def _merges(self, base: dict[str, Artefact], batches: list[Batch]) -> dict[str, Artefact]:
        """Artefacts of stage `merge`, by batch of every arm: arms that are built alike share one."""
        builders: dict[str, Condition] = {}
        works: dict[str, Work] = {}
        built_as: dict[str, str] = {}
        for condition in (*self._study.conditions, *self._association.quirks()):
            if not merge.built_beforehand(find(condition.system)):
                continue
            builder = builders.setdefault(self._build_key(condition), condition)
            for batch in batches:
                name = f"{builder.name}-{batch.name}"
                built_as[f"{condition.name}-{batch.name}"] = name
                works.setdefault(
                    name, self._work(merge.STAGE, name, self._building_params(builder, batch), base)
                )
        made = {found.batch: found for found in self._stage(merge.STAGE, list(works.values()))}
        return {arm: made[name] for arm, name in built_as.items()}

    def _build_key(self, condition: Condition) -> str:
        """What arms have in common that are built alike."""
        arm = self._study.arm(condition)
        fields = getattr(find(condition.system), "built_by", arm["settings"])
        return repr((condition.system, sorted((name, arm["settings"][name]) for name in fields)))
