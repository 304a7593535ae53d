"""The plan of the representation study: which works follow from a run, and on what each of them depends.

The plan is the same whoever carries it out: `execute` performs the works of one stage, in a Prefect flow or in a
plain loop, and gives their artefacts in order. Nothing here is paid for, so a plan may be walked to find out whether
a run is complete.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

from memory.systems import find
from results.arena import RANGES
from results.schemas import QUESTIONS
from tasks import (
    answer,
    arena,
    bootstrap,
    embed,
    extract,
    growth,
    judge,
    load,
    merge,
    recall,
    score,
    waterfall,
    waterfall_types,
)
from tasks.benchmarks.own import OWN
from tasks.context import declared, own_prompts_hash, query_prompt_hash
from tasks.execute import Execute
from tasks.failures import check_share
from tasks.memories import BESIDE
from tasks.prompts.answer import Profile
from tasks.runs import Run
from tasks.stage import Artefact, Stage, Work
from tasks.study import Condition

TURNS_A_BATCH = 1_000
TEXTS_A_BATCH = 4_000
QUESTIONS_A_BATCH = 50
HISTORIES_A_BATCH = 20


@dataclass(frozen=True, slots=True)
class Batch:
    """Some histories, with how many questions draw on them."""

    name: str
    histories: tuple[str, ...]
    questions: int


@dataclass
class Artefacts:
    """All artefacts of a study's current plan, by stage, in order."""

    by_stage: dict[str, list[Artefact]] = field(default_factory=dict)

    def counts(self) -> dict[str, dict[str, int]]:
        """Rows by stage and by what became of them."""
        counts: dict[str, dict[str, int]] = {}
        for stage, artefacts in self.by_stage.items():
            total = counts.setdefault(stage, {})
            for artefact in artefacts:
                for status, number in artefact.counts.items():
                    total[status] = total.get(status, 0) + number
        return counts


class Plan:
    """Walks a study stage by stage; each stage's works are known once the artefacts of the former are.

    Attributes:
        STAGES: All that a study may go through, in order.
    """

    STAGES: ClassVar[tuple[Stage, ...]] = tuple(
        step.STAGE
        for step in (
            load, extract, embed, growth, merge, recall, answer, judge, score, waterfall, waterfall_types, bootstrap,
            arena,
        )
    )  # fmt: skip

    def __init__(self, folder: Path, run: Run, execute: Execute, *, retry_failed: bool = False) -> None:
        self._folder = folder
        self._run = run
        self._study = run.study
        self._execute = execute
        self._retry_failed = retry_failed
        self._without_vector = 0
        self._in_steps = False
        self.made = Artefacts()

    def walk(self) -> Artefacts:
        """Carry out the whole study."""
        base = self._hear()
        if self._study.benchmark == OWN:
            self._stage(growth.STAGE, self._growths(base))
        if base["load"].counts["questions"]:
            self._ask(base)
        return self.made

    def _hear(self) -> dict[str, Artefact]:
        """Load, extract and embed; returns what memories are built of."""
        loaded = self._stage(load.STAGE, [self._load()])[0]
        extracts: list[Artefact] = []
        if any(find(c.system).needs_extractions for c in self._study.conditions):
            extracts = self._stage(extract.STAGE, self._extracts(loaded))
        base = {"load": loaded, **{f"extract-{number:04}": part for number, part in enumerate(extracts)}}
        self._embed(base)
        return base

    def _ask(self, base: dict[str, Artefact]) -> list[Artefact]:
        """Build memories, ask them, and score what they answer; returns the scores."""
        loaded = base["load"]
        batches = self._batches(loaded)
        self._in_steps = self._asked_in_steps(loaded)
        merges = {} if self._in_steps else self._merges(base, batches)
        self._search(base, batches, merges)
        return self._conclude(base, *self._answered(base, merges, self._arms(batches)))

    def _answered(
        self,
        base: dict[str, Artefact],
        merges: dict[str, Artefact],
        arms: Sequence[tuple[Condition, Batch]],
        repeat: int = 0,
    ) -> tuple[list[Artefact], list[Artefact]]:
        """Ask the memories of some arms, answer, judge and score; returns recalls and scores.

        Another `repeat` buys answers and verdicts anew, to see their variance.
        """
        loaded = base["load"]
        recalls = self._stage(recall.STAGE, [self._recall(recall.STAGE, c, b, base, merges) for c, b in arms])
        profiles = [condition.answer_prompt for condition, _ in arms]
        answers = self._stage(answer.STAGE, self._answers(loaded, recalls, profiles, repeat))
        verdicts = self._stage(judge.STAGE, self._verdicts(loaded, answers, repeat))
        return recalls, self._stage(score.STAGE, self._scores(loaded, recalls, answers, verdicts))

    def _conclude(
        self, base: dict[str, Artefact], recalls: list[Artefact], scores: list[Artefact]
    ) -> list[Artefact]:
        """Where answers were lost, and the comparisons of all arms; returns the scores."""
        traced = self._stage(waterfall.STAGE, self._waterfalls(base, recalls, scores))
        self._stage(waterfall_types.STAGE, [self._waterfall_types(traced)])
        names = list(dict.fromkeys(found.batch.rpartition("-")[0] for found in scores))
        self._stage(bootstrap.STAGE, [self._bootstrap(scores, self._pairs(names))])
        if self._study.benchmark in RANGES:
            self._stage(arena.STAGE, [self._arena(base["load"], scores)])
        return scores

    def _pairs(self, names: Sequence[str]) -> list[tuple[str, str]]:
        """Which conditions are compared."""
        return bootstrap.pairs(names)

    def _asked_in_steps(self, loaded: Artefact) -> bool:
        """Whether questions are asked in between of their sessions: then to recall is to build, in one stage."""
        after = loaded.read(self._folder, "questions", QUESTIONS)["after"]
        return after.null_count < len(after)

    def _search(self, base: dict[str, Artefact], batches: list[Batch], merges: dict[str, Artefact]) -> None:
        """What a kind of study does with the memories beside asking them: here nothing."""

    def _stage(self, stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        artefacts = self._execute(stage, works) if works else []
        self.made.by_stage.setdefault(stage.name, []).extend(artefacts)
        check_share(self._folder, stage.name, artefacts, self._study.max_failed)
        return artefacts

    def _work(self, stage: Stage, batch: str, params: dict[str, Any], inputs: dict[str, Artefact]) -> Work:
        return Work(
            run=str(self._folder),
            store=self._run.store,
            stage=stage.name,
            batch=batch,
            version=stage.version,
            params=params,
            inputs=inputs,
            retry_failed=self._retry_failed,
            shared=self._run.shared,
        )

    def _load(self) -> Work:
        study = self._study
        params = {
            "benchmark": study.benchmark,
            "sha256": self._run.sha256,
            "limit": study.limit,
            "questions": study.questions,
            "seed": study.seed,
        }
        return self._work(load.STAGE, "all", params, {})

    def _extracts(self, loaded: Artefact) -> list[Work]:
        study = self._study
        shared = {
            "models": declared(study.models, "extractor"),
            "prompt_name": study.extraction_prompt,
            "prompt": extract.prompt_hash(study.extraction_prompt),
            "validation": study.validation,
            "repeat": study.repeat,
        }
        return [
            self._work(
                extract.STAGE,
                f"{first // TURNS_A_BATCH:04}",
                {**shared, "first": first, "count": TURNS_A_BATCH},
                {"load": loaded},
            )
            for first in range(0, loaded.counts["distinct_turns"], TURNS_A_BATCH)
        ]

    def _embeds(self, base: dict[str, Artefact]) -> list[Work]:
        models = declared(self._study.models, "embedder")
        probe = self._work(embed.STAGE, "", {"models": models}, base)
        texts = embed.texts_of(probe)
        batches = -(-len(texts) // TEXTS_A_BATCH)
        works = []
        for number in range(batches):
            part = texts[number::batches]
            params = {"models": models, "texts": embed.texts_hash(part), "first": number, "step": batches}
            works.append(self._work(embed.STAGE, f"{number:04}", params, base))
        return works

    def _growths(self, base: dict[str, Artefact]) -> list[Work]:
        """A work for each condition and some histories, whether or not anyone asks about them."""
        probe = self._work(growth.STAGE, "", {}, base)
        names = list(load.loaded(probe)[0])
        firsts = range(0, len(names), HISTORIES_A_BATCH)
        batches = [
            Batch(f"{number:04}", tuple(names[first : first + HISTORIES_A_BATCH]), 0)
            for number, first in enumerate(firsts)
        ]
        return [
            self._work(growth.STAGE, f"{c.name}-{b.name}", self._building_params(c, b), base)
            for c, b in self._arms(batches)
        ]

    def _batches(self, loaded: Artefact) -> list[Batch]:
        """Histories in file order, together until enough questions draw on them."""
        asked: dict[str, int] = {}
        for row in loaded.read(self._folder, "questions", QUESTIONS).select(["history"]).to_pylist():
            history = row["history"]
            asked[history] = asked.get(history, 0) + 1
        batches: list[Batch] = []
        names: list[str] = []
        for name in asked:
            names.append(name)
            questions = sum(asked[n] for n in names)
            if questions >= QUESTIONS_A_BATCH or name == next(reversed(asked)):
                batches.append(Batch(f"{len(batches):04}", tuple(names), questions))
                names = []
        return batches

    def _arms(self, batches: list[Batch]) -> list[tuple[Condition, Batch]]:
        return [(condition, batch) for condition in self._study.conditions for batch in batches]

    def _memory_params(self, condition: Condition, batch: Batch) -> dict[str, Any]:
        asks_embedder = "embedder" in find(condition.system).asks
        return {
            "condition": self._study.arm(condition),
            "histories": list(batch.histories),
            **(self._vectors() if asks_embedder else {"models": {}}),
        }

    def _building_params(self, condition: Condition, batch: Batch) -> dict[str, Any]:
        params = self._memory_params(condition, batch)
        system = find(condition.system)
        if "builder" in system.asks:
            params["models"] = {**params["models"], **declared(self._study.models, "extractor")}
            params["repeat"] = self._study.repeat
            params["builder_prompts"] = own_prompts_hash(system)
        return params

    def _vectors(self) -> dict[str, Any]:
        """What a work depends on that reads vectors; memories are built anew when vectors come after all."""
        params: dict[str, Any] = {"models": declared(self._study.models, "embedder")}
        return {**params, "without_vector": self._without_vector} if self._without_vector else params

    def _embed(self, base: dict[str, Artefact]) -> None:
        embedded = self._stage(embed.STAGE, self._embeds(base))
        self._without_vector = sum(part.counts["failed"] for part in embedded)

    def _merges(self, base: dict[str, Artefact], batches: list[Batch]) -> dict[str, Artefact]:
        """Artefacts of stage `merge`, by batch of the condition; only for systems that are built beforehand."""
        works = [
            self._work(merge.STAGE, f"{c.name}-{b.name}", self._building_params(c, b), base)
            for c, b in self._arms(batches)
            if merge.built_beforehand(find(c.system))
        ]
        return {artefact.batch: artefact for artefact in self._stage(merge.STAGE, works)}

    def _recalls(
        self, base: dict[str, Artefact], batches: list[Batch], merges: dict[str, Artefact]
    ) -> list[Work]:
        return [self._recall(recall.STAGE, c, b, base, merges) for c, b in self._arms(batches)]

    def _recall(
        self,
        stage: Stage,
        condition: Condition,
        batch: Batch,
        base: dict[str, Artefact],
        merges: dict[str, Artefact],
    ) -> Work:
        """A work that opens the memories of a condition."""
        name = f"{condition.name}-{batch.name}"
        system = find(condition.system)
        params = (self._building_params if self._in_steps else self._memory_params)(condition, batch)
        if "chat" in system.asks:
            params["models"] |= declared(self._study.models, "query")
            params["query_prompt"] = own_prompts_hash(system) or query_prompt_hash()
        inputs = dict(base) if self._in_steps and system.needs_extractions else {"load": base["load"]}
        if name in merges:
            inputs["merge"] = merges[name]
        if params["condition"]["settings"].get("filter") == "after":
            # A batch of several histories stands beside itself, too.
            beside = [
                found
                for other, found in merges.items()
                if other.rpartition("-")[0] == condition.name and (other != name or len(batch.histories) > 1)
            ]
            inputs |= {f"{BESIDE}-{number:04}": found for number, found in enumerate(beside)}
        return self._work(stage, name, params, inputs)

    def _answers(
        self, loaded: Artefact, recalls: Sequence[Artefact], profiles: Sequence[Profile], repeat: int = 0
    ) -> list[Work]:
        models = declared(self._study.models, "answerer")
        again = {"repeat": repeat} if repeat else {}
        return [
            self._work(
                answer.STAGE,
                recalled.batch,
                {**again, "models": models, "profile": profile, "prompt": answer.prompt_hash(profile)},
                {"load": loaded, "recall": recalled},
            )
            for recalled, profile in zip(recalls, profiles, strict=True)
        ]

    def _verdicts(self, loaded: Artefact, answers: list[Artefact], repeat: int = 0) -> list[Work]:
        study = self._study
        asked = loaded.read(self._folder, "questions", QUESTIONS).select(["type"]).to_pylist()
        types = tuple(sorted({row["type"] for row in asked}))
        params = {
            "models": declared(study.models, "judge"),
            "judge": study.judge,
            "prompt": judge.prompt_hash(study.judge, types),
            **({"repeat": repeat} if repeat else {}),
        }
        return [self._work(judge.STAGE, a.batch, params, {"load": loaded, "answer": a}) for a in answers]

    def _scores(
        self,
        loaded: Artefact,
        recalls: list[Artefact],
        answers: list[Artefact],
        verdicts: list[Artefact],
    ) -> list[Work]:
        return [
            self._work(score.STAGE, r.batch, {}, {"load": loaded, "recall": r, "answer": a, "judge": v})
            for r, a, v in zip(recalls, answers, verdicts, strict=True)
        ]

    def _waterfalls(
        self, base: dict[str, Artefact], recalls: list[Artefact], scores: list[Artefact]
    ) -> list[Work]:
        """A work for each condition and batch; only those of systems that take extractions read them."""
        takes = {c.name for c in self._study.conditions if find(c.system).needs_extractions}
        works = []
        for recalled, scored in zip(recalls, scores, strict=True):
            inputs = base if recalled.batch.rpartition("-")[0] in takes else {"load": base["load"]}
            inputs = {**inputs, "recall": recalled, "score": scored}
            works.append(self._work(waterfall.STAGE, recalled.batch, {}, inputs))
        return works

    def _waterfall_types(self, traced: list[Artefact]) -> Work:
        inputs = {f"waterfall-{number:04}": part for number, part in enumerate(traced)}
        return self._work(waterfall_types.STAGE, "all", {}, inputs)

    def _arena(self, loaded: Artefact, scores: list[Artefact]) -> Work:
        study = self._study
        params = {"benchmark": study.benchmark, "seed": study.seed, "resamples": study.resamples}
        inputs = {f"score-{number:04}": part for number, part in enumerate(scores)}
        return self._work(arena.STAGE, "all", params, {"load": loaded, **inputs})

    def _bootstrap(self, scores: list[Artefact], pairs: Sequence[tuple[str, str]]) -> Work:
        params = {
            "pairs": [list(pair) for pair in pairs],
            "seed": self._study.seed,
            "resamples": self._study.resamples,
        }
        inputs = {f"score-{number:04}": part for number, part in enumerate(scores)}
        return self._work(bootstrap.STAGE, "all", params, inputs)
