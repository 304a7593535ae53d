"""The plan of a representation study that explains itself: the study, and then what each switch is worth.

What comes after the study asks no model: it reads what the study has bought. It begins once the study is whole, so
that nothing is said of half a memory.
"""

from __future__ import annotations

from tasks import bootstrap, switches, switches_budgets, switches_tables
from tasks.context import declared, query_prompt_hash
from tasks.plan import Artefacts, Plan
from tasks.study import Condition
from tasks.switches_arms import BASES, bases_of


class ExplainedPlan(Plan):
    """Walks the study, then the switch table, the sweep and the equal budgets."""

    STAGES = (*Plan.STAGES, switches.STAGE, switches_budgets.STAGE, switches_tables.STAGE)

    def walk(self) -> Artefacts:
        """Carry out the whole study, and explain it where no row is left to be tried again."""
        made = super().walk()
        asked = bootstrap.STAGE.name in made.by_stage  # one's own conversations may hold no questions
        if asked and not any(counts.get("pending") for counts in made.counts().values()):
            self._explain()
        return made

    def _explain(self) -> None:
        study = self._study
        loaded = self.made.by_stage["load"][0]
        extracts = self.made.by_stage["extract"]
        base = {"load": loaded, **{f"extract-{number:04}": part for number, part in enumerate(extracts)}}
        bases = bases_of(study)
        flat = {name: study.arm(Condition(system="flat", profile=name))["settings"] for name in BASES}
        params = {
            **self._vectors(),
            "models": declared(study.models, "query", "embedder"),
            "query_prompt": query_prompt_hash(),
            "bases": bases,
        }
        inputs = {"load": loaded}
        for stage, own in ((switches.STAGE, {}), (switches_budgets.STAGE, {"flat": flat})):
            works = [
                self._work(stage, batch.name, {**params, **own, "histories": list(batch.histories)}, base)
                for batch in self._batches(loaded)
            ]
            parts = self._stage(stage, works)
            inputs |= {f"{stage.name}-{number:04}": part for number, part in enumerate(parts)}
        sampling = {"bases": bases, "resamples": study.resamples, "seed": study.seed}
        self._stage(switches_tables.STAGE, [self._work(switches_tables.STAGE, "all", sampling, inputs)])
