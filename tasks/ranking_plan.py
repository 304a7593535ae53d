"""The plan of the ranking study: histories in batches are embedded, built where needed, asked, and summed up."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from memory.conversation import Question
from memory.systems import find
from results.schemas import QUESTIONS
from results.split import side
from tasks import embed, extract, five_ws, load, merge, rank, rank_tables
from tasks.benchmarks.limits import sample
from tasks.context import declared, own_prompts_hash, query_prompt_hash
from tasks.execute import Execute
from tasks.models.catalogue import ModelChoice
from tasks.plan import HISTORIES_A_BATCH, QUESTIONS_A_BATCH, Batch
from tasks.ranking_stores import can_be_ranked
from tasks.ranking_study import RankingStudy
from tasks.runs import Run
from tasks.shared_builds import SharedBuilds
from tasks.stage import Artefact, Work
from tasks.study import Condition

Made = dict[str, Artefact]


@dataclass(frozen=True, slots=True)
class Asking:
    """What a work of stage `rank` asks.

    Attributes:
        name: In letters that may stand in a file name.
        batches: The batches whose vectors it reads.
        questions: Ids of its questions.
        sizes: Turns to which stores are cut; none where they are whole.
    """

    name: str
    batches: tuple[Batch, ...]
    questions: tuple[str, ...]
    sizes: tuple[int, ...] = ()


class RankingPlan(SharedBuilds):
    """Walks the ranking study."""

    STAGES = tuple(step.STAGE for step in (load, extract, embed, merge, rank, five_ws, rank_tables))

    def __init__(self, folder: Path, run: Run, execute: Execute, *, retry_failed: bool = False) -> None:
        super().__init__(folder, run, execute, retry_failed=retry_failed)
        if not isinstance(run.study, RankingStudy):
            raise TypeError(f"{run.study.study} is no ranking study")
        self._ranking = run.study
        self._embedded: Made = {}

    def _ask(self, base: Made) -> list[Artefact]:
        """Build memories, rank and sum up; returns the ranks."""
        loaded = base["load"]
        asked = self._asked(loaded)
        batches = self._batched(loaded, asked)
        conditions = self._ranking.arms()
        read: list[Work] = []
        if self._ranking.store == "together":
            whole = Asking("together", tuple(batches), tuple(question.id for question in asked))
            works = [self._rank(c, whole, base, {}) for c in conditions]
        else:
            merges = self._merges(base, batches)
            tagged = [c for c in self._study.conditions if c.system == "taggraph"]
            read = [self._five_ws(c, batches, asked, base, merges) for c in tagged]
            askings = [*self._whole(batches, asked), *self._sized(batches, asked)]
            works = [self._rank(c, asking, base, merges) for c in conditions for asking in askings]
        ranks = self._stage(rank.STAGE, works)
        self._stage(five_ws.STAGE, read)
        self._stage(rank_tables.STAGE, [self._tables(loaded, ranks)])
        return ranks

    def _asked(self, loaded: Artefact) -> list[Question]:
        """The questions that are asked, in file order: those with evidence, of the study's side."""
        questions = load.questions_of(loaded.read(self._folder, "questions", QUESTIONS))
        asked = [question for question in questions if can_be_ranked(question)]
        if self._ranking.side == "development":
            asked = [
                q for q in asked if side(self._study.benchmark, q.id, q.history, q.type) == "development"
            ]
        return asked

    def _batched(self, loaded: Artefact, asked: Sequence[Question]) -> list[Batch]:
        """Histories in batches of enough questions or turns; in one store also those that nobody asks about."""
        counts = dict.fromkeys(self._histories(loaded), 0) if self._ranking.store == "together" else {}
        for question in asked:
            counts[question.history] = counts.get(question.history, 0) + 1
        batches: list[Batch] = []
        names: list[str] = []
        for name in counts:
            names.append(name)
            questions = sum(counts[n] for n in names)
            full = questions >= QUESTIONS_A_BATCH or len(names) >= HISTORIES_A_BATCH
            if full or name == next(reversed(counts)):
                batches.append(Batch(f"{len(batches):04}", tuple(names), questions))
                names = []
        return batches

    def _histories(self, loaded: Artefact) -> list[str]:
        return list(load.loaded(self._work(embed.STAGE, "", {}, {"load": loaded}))[0])

    # Vectors, by batch of histories: whoever asks these reads no others

    def _embed(self, base: Made) -> None:
        study = self._ranking
        batches = self._batched(base["load"], self._asked(base["load"]))
        works = self._embeds_of(study.conditions, study.models, batches, base)
        works += self._embeds_of(study.twins(), self._other, batches, base)
        self._embedded = {part.batch: part for part in self._stage(embed.STAGE, works)}
        self._without_vector = sum(part.counts["failed"] for part in self._embedded.values())

    def _embeds_of(
        self, conditions: Sequence[Condition], models: ModelChoice, batches: list[Batch], base: Made
    ) -> list[Work]:
        """A work for each batch of histories, of what the conditions embed with their embedder."""
        arms = [self._study.arm(c) for c in conditions if "embedder" in find(c.system).asks]
        if not arms:
            return []
        distinct = {repr((arm["system"], arm["settings"])): arm for arm in arms}
        params = {"models": declared(models, "embedder"), "arms": list(distinct.values())}
        takes = any(find(arm["system"]).needs_extractions for arm in arms)
        inputs = base if takes else {"load": base["load"]}
        prefix = self._vectors_of(conditions[0])
        if prefix:
            params["table"] = "vectors_beside"  # one table has vectors of one length
        return [
            self._work(embed.STAGE, prefix + b.name, {**params, "histories": list(b.histories)}, inputs)
            for b in batches
        ]

    def _vectors_of(self, condition: Condition) -> str:
        """What the names of works begin with that embed for a condition."""
        return "beside-" if condition in self._ranking.twins() else ""

    @property
    def _other(self) -> ModelChoice:
        """The study's models with the other embedder."""
        return self._study.models.model_copy(update={"embedder": self._ranking.beside})

    def _memory_params(self, condition: Condition, batch: Batch) -> dict[str, Any]:
        params = super()._memory_params(condition, batch)
        if self._vectors_of(condition):
            params["models"] = {**params["models"], **declared(self._other, "embedder")}
        return params

    def _built(self) -> Iterator[Condition]:
        yield from (*self._ranking.conditions, *(noisy.condition for noisy in self._ranking.noisy()))

    def _in_order(self, loaded: Artefact) -> bool:
        return False  # a large file's histories are not all read to find out

    # Questions

    def _whole(self, batches: list[Batch], asked: Sequence[Question]) -> list[Asking]:
        return [Asking(b.name, (b,), tuple(q.id for q in asked if q.history in b.histories)) for b in batches]

    def _sized(self, batches: list[Batch], asked: Sequence[Question]) -> list[Asking]:
        """Questions by lot, asked of smaller stores."""
        study = self._ranking
        if not study.sizes or not study.sized_questions:
            return []
        drawn = sample(asked, study.sized_questions, study.seed)
        askings = []
        for batch in batches:
            questions = tuple(q.id for q in asked if q.id in drawn and q.history in batch.histories)
            if questions:
                askings.append(Asking(f"sized-{batch.name}", (batch,), questions, study.sizes))
        return askings

    def _rank(self, condition: Condition, asking: Asking, base: Made, merges: Made) -> Work:
        """A work that asks memories of a condition; smaller stores and the one of all are built there."""
        system = find(condition.system)
        all_of_it = Batch(asking.name, tuple(name for b in asking.batches for name in b.histories), 0)
        built = merges.get(f"{condition.name}-{asking.name}")
        params = (self._building_params if built is None else self._memory_params)(condition, all_of_it)
        if "chat" in system.asks:
            params["models"] |= declared(self._study.models, "query")
            params["query_prompt"] = own_prompts_hash(system) or query_prompt_hash()
        params |= {
            "benchmark": self._study.benchmark,
            "store": self._ranking.store,
            "questions": list(asking.questions),
            "sizes": list(asking.sizes),
            "seed": self._study.seed,
        }
        return self._work(
            rank.STAGE,
            f"{condition.name}-{asking.name}",
            params,
            self._inputs(condition, asking, base, built),
        )

    def _five_ws(
        self, condition: Condition, batches: list[Batch], asked: Sequence[Question], base: Made, merges: Made
    ) -> Work:
        """A work that reads the notes of a condition."""
        everyone = Batch("all", tuple(name for batch in batches for name in batch.histories), 0)
        params = self._memory_params(condition, everyone)
        system = find(condition.system)
        params["models"] |= declared(self._study.models, "query")
        params |= {
            "query_prompt": own_prompts_hash(system),
            "benchmark": self._study.benchmark,
            "questions": [question.id for question in asked],
        }
        built = {f"merge-{batch.name}": merges[f"{condition.name}-{batch.name}"] for batch in batches}
        return self._work(five_ws.STAGE, f"{condition.name}-all", params, {"load": base["load"], **built})

    def _inputs(self, condition: Condition, asking: Asking, base: Made, built: Artefact | None) -> Made:
        system = find(condition.system)
        inputs = dict(base) if system.needs_extractions and built is None else {"load": base["load"]}
        if "embedder" in system.asks:
            names = [self._vectors_of(condition) + batch.name for batch in asking.batches]
            inputs |= {f"embed-{name}": self._embedded[name] for name in names}
        return inputs if built is None else {**inputs, "merge": built}

    def _tables(self, loaded: Artefact, ranks: Sequence[Artefact]) -> Work:
        study = self._ranking
        params = {
            "conditions": {c.name: c.system for c in (*study.conditions, *study.twins())},
            "noisy": {
                n.condition.name: {"of": n.of, "change": n.change, "share": n.share} for n in study.noisy()
            },
            "benchmark": study.benchmark,
            "side": study.side,
            "seed": study.seed,
            "resamples": study.resamples,
        }
        inputs = {f"rank-{number:04}": part for number, part in enumerate(ranks)}
        return self._work(rank_tables.STAGE, "all", params, {"load": loaded, **inputs})
