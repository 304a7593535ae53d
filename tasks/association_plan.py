"""The plan of the association study: arms that are built alike are built once; all are searched by words."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from memory.repair.graft import Graft
from memory.repair.settings import GRAFT_PROFILES
from memory.systems import find
from results.schemas import TURNS
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
    plant,
    recall,
    repair,
    score,
    waterfall,
    waterfall_types,
    words,
)
from tasks.association_study import GRAFT, IMPROVED, PUBLISHED, AssociationStudy
from tasks.context import declared
from tasks.execute import Execute
from tasks.load import histories_of
from tasks.models.catalogue import BUNDLES
from tasks.plan import Batch, Plan
from tasks.prompts.hashing import request_hash
from tasks.runs import Run
from tasks.stage import Artefact, Stage, Work
from tasks.study import Condition

HUB_WORDS = 1000
"""Words of context at which the twins are compared: those of the paper."""

Merges = dict[str, Artefact]


class AssociationPlan(Plan):
    """Walks the association study."""

    STAGES = tuple(
        step.STAGE
        for step in (
            load, extract, embed, merge, words, hubs, plant, recall, answer, judge, score, repair, waterfall,
            waterfall_types, bootstrap, associate,
        )
    )  # fmt: skip

    def __init__(self, folder: Path, run: Run, execute: Execute, *, retry_failed: bool = False) -> None:
        super().__init__(folder, run, execute, retry_failed=retry_failed)
        if not isinstance(run.study, AssociationStudy):
            raise TypeError(f"{run.study.study} is no association study")
        self._association = run.study
        self._parts: dict[str, list[Artefact]] = {}

    def _ask(self, base: dict[str, Artefact]) -> list[Artefact]:
        scores = super()._ask(base)
        self._stage(associate.STAGE, [self._associate(base["load"], scores)])
        return scores

    # Built once where they are built alike

    def _merges(self, base: dict[str, Artefact], batches: list[Batch]) -> Merges:
        """Artefacts of stage `merge`, by batch of every arm: arms that are built alike share one."""
        builders: dict[str, Condition] = {}
        works: dict[str, Work] = {}
        built_as: dict[str, str] = {}
        histories = histories_of(base["load"].read(self._folder, "turns", TURNS))
        in_order = all(h.sessions == merge.in_order(h, {"session_order": "date"}) for h in histories.values())
        for condition in (*self._study.conditions, *self._association.quirks()):
            if not merge.built_beforehand(find(condition.system)):
                continue
            builder = builders.setdefault(
                merge.build_key(self._study.arm(condition), in_order=in_order), condition
            )
            for batch in batches:
                name = f"{builder.name}-{batch.name}"
                built_as[f"{condition.name}-{batch.name}"] = name
                work = self._work(merge.STAGE, name, self._building_params(builder, batch), base)
                works.setdefault(name, work)
        made = {found.batch: found for found in self._stage(merge.STAGE, list(works.values()))}
        return {arm: made[name] for arm, name in built_as.items()}

    # What needs no answer

    def _search(self, base: dict[str, Artefact], batches: list[Batch], merges: Merges) -> None:
        """Look for evidence by words in every arm; compare GAAMA's graph with its twin; plant faults in it."""
        study = self._association
        arms = [(condition, batch) for condition in (*study.conditions, *study.quirks()) for batch in batches]
        searched = [self._opening(words.STAGE, c, b, base, merges, words=list(study.words)) for c, b in arms]
        self._parts["words"] = self._stage(words.STAGE, searched)
        twins = [
            self._opening(hubs.STAGE, c, b, base, merges, words=HUB_WORDS)
            for c, b in self._arms(batches)
            if c.name in (PUBLISHED, IMPROVED)
        ]
        self._parts["hubs"] = self._stage(hubs.STAGE, twins)
        self._parts["plant"] = self._stage(plant.STAGE, self._plants(base, batches, merges))

    def _opening(
        self,
        stage: Stage,
        condition: Condition,
        batch: Batch,
        base: dict[str, Artefact],
        merges: Merges,
        **more: object,
    ) -> Work:
        """A work that opens the memories of an arm, with further parameters."""
        work = self._recall(stage, condition, batch, base, merges)
        return work.model_copy(update={"params": {**work.params, **more}})

    def _plants(self, base: dict[str, Artefact], batches: list[Batch], merges: Merges) -> list[Work]:
        """A work for each profile of the repair and batch; offline models alone are asked."""
        study = self._association
        faults = -(-study.planted // sum(len(batch.histories) for batch in batches))
        works = []
        for condition, batch in self._arms(batches):
            if condition.name != IMPROVED or not faults:
                continue
            for graft in GRAFT_PROFILES:
                work = self._opening(
                    plant.STAGE, condition, batch, base, merges, graft=graft, faults=faults, seed=study.seed
                )
                offline = declared(BUNDLES["offline"], "extractor", "answerer")
                params = {**work.params, "models": {**work.params["models"], **offline}}
                works.append(work.model_copy(update={"batch": f"{graft}-{batch.name}", "params": params}))
        return works

    # Repair

    def _answered(
        self,
        base: dict[str, Artefact],
        merges: Merges,
        arms: Sequence[tuple[Condition, Batch]],
        repeat: int = 0,
    ) -> tuple[list[Artefact], list[Artefact]]:
        """As always; then, where the study repairs, the repaired memory, and the unedited one again."""
        recalls, scores = super()._answered(base, merges, arms, repeat)
        study = self._association
        if not study.repair:
            return recalls, scores
        batches = [batch for condition, batch in arms if condition.name == PUBLISHED]
        before = {found.batch: found for found in scores}
        works = [self._repair(batch, base, merges, before[f"{PUBLISHED}-{batch.name}"]) for batch in batches]
        self._parts["repair"] = self._stage(repair.STAGE, works)
        built = {found.batch: found for found in self._parts["repair"]}
        for condition, again in study.repair_arms():
            for batch in batches:
                built.setdefault(f"{condition.name}-{batch.name}", merges[f"{PUBLISHED}-{batch.name}"])
            more = super()._answered(base, built, [(condition, batch) for batch in batches], again)
            recalls, scores = [*recalls, *more[0]], [*scores, *more[1]]
        return recalls, scores

    def _repair(self, batch: Batch, base: dict[str, Artefact], merges: Merges, scored: Artefact) -> Work:
        study = self._association
        condition = next(c for c in study.conditions if c.name == PUBLISHED)
        work = self._opening(
            repair.STAGE,
            condition,
            batch,
            base,
            merges,
            prompts="-".join(request_hash(prompt) for prompt in Graft.prompts),
            answer_prompt=answer.prompt_hash(condition.answer_prompt),
            profile=condition.answer_prompt,
            graft=study.graft,
            gold=study.graft_sees_references,
        )
        models = {**work.params["models"], **declared(study.models, "extractor", "answerer")}
        return work.model_copy(
            update={
                "batch": f"{GRAFT}-{batch.name}",
                "params": {**work.params, "models": models},
                "inputs": {**work.inputs, **({"score": scored} if study.graft_sees_references else {})},
            }
        )

    def _associate(self, loaded: Artefact, scores: list[Artefact]) -> Work:
        parts = {**self._parts, "score": scores}
        inputs = {f"{name}-{n:04}": part for name, made in parts.items() for n, part in enumerate(made)}
        params = {
            "conditions": [condition.name for condition in self._study.conditions],
            "quirks": [condition.name for condition in self._association.quirks()],
            "extractor": self._study.models.extractor,
            "seed": self._study.seed,
            "resamples": self._study.resamples,
        }
        return self._work(associate.STAGE, "all", params, {"load": loaded, **inputs})
