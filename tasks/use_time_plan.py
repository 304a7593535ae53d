"""The plan of the use-time study: every point is an arm; what asks a model something new goes first."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tasks import (
    answer,
    bootstrap,
    embed,
    extract,
    judge,
    load,
    merge,
    recall,
    score,
    use_time,
    waterfall,
    waterfall_types,
)
from tasks.execute import Execute
from tasks.plan import Batch
from tasks.runs import Run
from tasks.shared_builds import Merges, SharedBuilds
from tasks.stage import Artefact, Work
from tasks.study import Condition
from tasks.use_time_study import UseTimeStudy, against_full, turned


class UseTimePlan(SharedBuilds):
    """Walks the use-time study."""

    STAGES = tuple(
        step.STAGE
        for step in (
            load, extract, embed, merge, recall, answer, judge, score, waterfall, waterfall_types, bootstrap, use_time,
        )
    )  # fmt: skip

    def __init__(self, folder: Path, run: Run, execute: Execute, *, retry_failed: bool = False) -> None:
        super().__init__(folder, run, execute, retry_failed=retry_failed)
        if not isinstance(run.study, UseTimeStudy):
            raise TypeError(f"{run.study.study} is no use-time study")
        self._points = run.study.points()
        self._study = run.study.model_copy(update={"conditions": run.study.arms()})

    def _ask(self, base: dict[str, Artefact]) -> list[Artefact]:
        scores = super()._ask(base)
        self._stage(use_time.STAGE, [self._use_time(base["load"], scores)])
        return scores

    def _answered(
        self,
        base: dict[str, Artefact],
        merges: Merges,
        arms: Sequence[tuple[Condition, Batch]],
        repeat: int = 0,
    ) -> tuple[list[Artefact], list[Artefact]]:
        """As always, but in waves: arms that put the same requests to a model wait for the first of them.

        All budgets of an arm ask the same, and variants of RD-Forget mostly what it asks. At once, each would compute
        what the others compute where a rule replies, and on several machines buy what the others buy; on one, calls
        are bought one by one.
        """
        waves: list[list[tuple[Condition, Batch]]] = [[], [], []]
        wave_of = self._waves()
        for condition, batch in arms:
            waves[wave_of[condition.name]].append((condition, batch))
        asked = [super(UseTimePlan, self)._answered(base, merges, wave, repeat) for wave in waves if wave]
        recalls, scores = ([part for found in asked for part in found[i]] for i in (0, 1))
        return recalls, scores

    def _waves(self) -> dict[str, int]:
        """By arm, its wave: the first budget of a system, then that of its variants, then all others."""
        met: set[tuple[str, str, str, float]] = set()
        waves = {}
        for point in self._points:
            asks = (point.condition, point.variant, point.retention, point.kept)
            waves[point.arm.name] = 2 if asks in met else int(point.part != "system")
            met.add(asks)
        return waves

    def _pairs(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """RD-Forget minus every other system at its budget; every variant of it minus RD-Forget."""
        return [*against_full(self._points), *turned(self._points)] or bootstrap.pairs(names)

    def _use_time(self, loaded: Artefact, scores: list[Artefact]) -> Work:
        parts = {"score": scores, "recall": self.made.by_stage[recall.STAGE.name]}
        inputs = {f"{name}-{n:04}": part for name, made in parts.items() for n, part in enumerate(made)}
        params = {
            "points": [use_time.described(point) for point in self._points],
            "pairs": [list(pair) for pair in against_full(self._points)],
            "turned": [list(pair) for pair in turned(self._points)],
            "benchmark": self._study.benchmark,
            "seed": self._study.seed,
            "resamples": self._study.resamples,
        }
        return self._work(use_time.STAGE, "all", params, {"load": loaded, **inputs})
