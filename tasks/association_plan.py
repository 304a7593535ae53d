"""The plan of the association study: arms that are built alike are built once; all are searched by words."""

from __future__ import annotations

from pathlib import Path

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
from tasks.association_study import IMPROVED, PUBLISHED, AssociationStudy
from tasks.plan import Batch, Execute, Plan
from tasks.runs import Run
from tasks.stage import Artefact, Work
from tasks.study import Condition

HUB_WORDS = 1000
"""Words of context at which the twins are compared: those of the paper."""


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
        self._words: list[Artefact] = []
        self._hubs: list[Artefact] = []

    def _ask(self, base: dict[str, Artefact]) -> list[Artefact]:
        scores = super()._ask(base)
        self._stage(associate.STAGE, [self._associate(base["load"], scores)])
        return scores

    def _search(self, base: dict[str, Artefact], batches: list[Batch], merges: dict[str, Artefact]) -> None:
        """Look for evidence by words in every arm, and compare GAAMA's graph with its twin."""
        study = self._association
        searched = [*study.conditions, *study.quirks()]
        works = []
        for condition in searched:
            for batch in batches:
                work = self._recall(words.STAGE, condition, batch, base, merges)
                works.append(work.model_copy(update={"params": {**work.params, "words": list(study.words)}}))
        self._words = self._stage(words.STAGE, works)
        twins = []
        for condition in study.conditions:
            if condition.name in (PUBLISHED, IMPROVED):
                for batch in batches:
                    work = self._recall(hubs.STAGE, condition, batch, base, merges)
                    twins.append(work.model_copy(update={"params": {**work.params, "words": HUB_WORDS}}))
        self._hubs = self._stage(hubs.STAGE, twins)

    def _associate(self, loaded: Artefact, scores: list[Artefact]) -> Work:
        parts = {"words": self._words, "hubs": self._hubs, "score": scores}
        inputs = {f"{name}-{n:04}": part for name, made in parts.items() for n, part in enumerate(made)}
        params = {
            "conditions": [condition.name for condition in self._study.conditions],
            "quirks": [condition.name for condition in self._association.quirks()],
            "extractor": self._study.models.extractor,
            "seed": self._study.seed,
            "resamples": self._study.resamples,
        }
        return self._work(associate.STAGE, "all", params, {"load": loaded, **inputs})

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
