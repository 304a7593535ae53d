"""A plan whose arms share memories: those that are built alike are built once."""

from __future__ import annotations

from collections.abc import Iterator

from memory.systems import find
from results.schemas import TURNS
from tasks import merge
from tasks.load import histories_of
from tasks.plan import Batch, Plan
from tasks.stage import Artefact, Work
from tasks.study import Condition

Merges = dict[str, Artefact]
"""Artefacts of stage `merge`, by batch of each arm."""


class SharedBuilds(Plan):
    """Walks a study many of whose arms differ only in how their memories are asked."""

    def _built(self) -> Iterator[Condition]:
        """The arms whose memories may have to be built."""
        yield from self._study.conditions

    def _in_order(self, loaded: Artefact) -> bool:
        """Whether every history's sessions come in order of time, so that arms differ in no order."""
        histories = histories_of(loaded.read(self._folder, "turns", TURNS))
        return all(h.sessions == merge.in_order(h, {"session_order": "date"}) for h in histories.values())

    def _merges(self, base: dict[str, Artefact], batches: list[Batch]) -> Merges:
        """Artefacts of stage `merge`, by batch of every arm: arms that are built alike share one."""
        builders: dict[str, Condition] = {}
        works: dict[str, Work] = {}
        built_as: dict[str, str] = {}
        in_order = self._in_order(base["load"])
        for condition in self._built():
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
