"""The plan of the forgetting study: Experiment 2's arms, answered and judged, and the frontier, without any LLM."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from results.schemas import QUESTIONS
from tasks import (
    analyse,
    answer,
    bootstrap,
    embed,
    entities,
    extract,
    frontier,
    ingest,
    judge,
    load,
    merge,
    prune,
    recall,
    recall_store,
    score,
    storage,
)
from tasks.context import declared, query_prompt_hash
from tasks.execute import Execute
from tasks.forgetting_study import OF_IMPORTANCE, ForgettingStudy, PolicyChoice
from tasks.plan import Artefacts, Batch, Plan
from tasks.runs import Run
from tasks.stage import Artefact, Work

TURNS_A_SEGMENT = 2_000
CROWDED = 49_999  # the code also forgets at 50,000 nodes and more, after every turn (facts, section 14)
AFTER_BUDGET = 0.9  # a pass over budget goes on to this share of it, so that not every turn needs a pass

# The arms that are answered and judged.
NO_FORGETTING = "graph-store"
FORGETTING = "graph-store-forgetting"
MATCHED = "graph-store-matched"
MATCHED_RANDOM = "graph-store-random"
PER_HISTORY = ("graph-history", "flat-history")
FLAT_STORE = "flat-store"


class ForgettingPlan(Plan):
    """Walks the forgetting study."""

    STAGES = tuple(
        step.STAGE
        for step in (
            load, extract, embed, entities, ingest, merge, prune, frontier, storage, recall, answer,
            judge, score, bootstrap, analyse,
        )
    )  # fmt: skip

    def __init__(self, folder: Path, run: Run, execute: Execute, *, retry_failed: bool = False) -> None:
        super().__init__(folder, run, execute, retry_failed=retry_failed)
        if not isinstance(run.study, ForgettingStudy):
            raise TypeError(f"{run.study.study} is no forgetting study")
        self._forgetting = run.study
        self._graph, self._flat = (run.study.arm(condition) for condition in run.study.conditions)

    def walk(self) -> Artefacts:
        """Carry out the whole study."""
        loaded = self._stage(load.STAGE, [self._load()])[0]
        extracts = self._stage(extract.STAGE, self._extracts(loaded))
        base = {"load": loaded, **{f"extract-{number:04}": part for number, part in enumerate(extracts)}}
        self._embed(base)
        asked = self._stage(entities.STAGE, [self._entities(loaded)])[0]
        stores = self._ingest(base)
        batches = self._batches(loaded)
        merges = self._merge_histories(base, batches)
        pruned = self._prune(loaded, stores)
        lines = self._stage(frontier.STAGE, self._frontiers(loaded, asked, stores["store"], merges))
        graphs = {NO_FORGETTING: stores["store"], **pruned}
        graphs |= {f"graph-store-{chain}": made for chain, made in stores.items() if chain != "store"}
        stored = self._stage(storage.STAGE, [self._storage(graphs)])[0]
        scores = self._answer(base, batches, graphs, merges)
        self._stage(analyse.STAGE, [self._analysis(loaded, stored, lines, scores, graphs)])
        return self.made

    def _entities(self, loaded: Artefact) -> Work:
        params = {
            "models": declared(self._study.models, "query", "embedder"),
            "query_prompt": query_prompt_hash(),
        }
        return self._work(entities.STAGE, "all", params, {"load": loaded})

    # --- the stores --------------------------------------------------------------------------------------------

    def _ingest(self, base: dict[str, Artefact]) -> dict[str, Artefact]:
        """The last segment of each chain: `store` without forgetting, the others with passes on a schedule."""
        chains = self._chains()
        last: dict[str, Artefact] = {}
        everything: list[Artefact] = []
        for number, (first, count) in enumerate(self._segments(base["load"])):
            works = [
                self._segment(chain, forgetting, number, (first, count), base, last.get(chain))
                for chain, forgetting in chains.items()
            ]
            made = self._stage(ingest.STAGE, works)
            last = dict(zip(chains, made, strict=True))
            everything += made
        self.made.by_stage[ingest.STAGE.name] = everything
        return last

    def _chains(self) -> dict[str, dict[str, Any]]:
        """How each chain forgets while it grows: not at all, every so many turns, or whenever it is too large."""
        study = self._forgetting
        importance = {"importance": study.importance.model_dump()}
        chains: dict[str, dict[str, Any]] = {"store": {}}
        for turns in study.intervals:
            schedule = {"every": turns, "nodes": CROWDED}
            chains[f"every-{turns}"] = {
                "schedule": schedule,
                "limit": {"threshold": study.threshold},
                **importance,
            }
        for nodes in study.budgets:
            limit = {"nodes": int(nodes * AFTER_BUDGET)}
            chains[f"budget-{nodes}"] = {"schedule": {"nodes": nodes}, "limit": limit, **importance}
        return chains

    def _segments(self, loaded: Artefact) -> list[tuple[int, int]]:
        """Slices `(first, count)` of the sessions in store order, each of some thousand turns."""
        probe = self._work(ingest.STAGE, "", {}, {"load": loaded})
        sessions = ingest.in_store_order(load.loaded(probe)[0], self._forgetting.order)
        segments, first, turns = [], 0, 0
        for number, session in enumerate(sessions, start=1):
            turns += len(session.turns)
            if turns >= TURNS_A_SEGMENT or number == len(sessions):
                segments.append((first, number - first))
                first, turns = number, 0
        return segments

    def _segment(
        self,
        chain: str,
        forgetting: dict[str, Any],
        number: int,
        part: tuple[int, int],
        base: dict[str, Artefact],
        before: Artefact | None,
    ) -> Work:
        params: dict[str, Any] = {
            "condition": self._graph,
            "order": self._forgetting.order,
            "first": part[0],
            "count": part[1],
            **self._vectors(),
            **forgetting,
        }
        inputs = base if before is None else {**base, "before": before}
        return self._work(ingest.STAGE, f"{chain}-{number:04}", params, inputs)

    def _merge_histories(self, base: dict[str, Artefact], batches: list[Batch]) -> dict[str, Artefact]:
        """One graph a history, by batch: what the store is without interference, and its namespaces."""
        works = [
            self._work(
                merge.STAGE, f"{PER_HISTORY[0]}-{batch.name}", self._history_params(self._graph, batch), base
            )
            for batch in batches
        ]
        return {
            batch.name: made for batch, made in zip(batches, self._stage(merge.STAGE, works), strict=True)
        }

    def _history_params(self, arm: dict[str, Any], batch: Batch) -> dict[str, Any]:
        return {
            "condition": arm,
            "histories": list(batch.histories),
            **self._vectors(),
        }

    def _prune(self, loaded: Artefact, stores: dict[str, Artefact]) -> dict[str, Artefact]:
        study = self._forgetting
        importance = ("importance", study.importance.model_dump())
        passes = {
            FORGETTING: (*importance, {"threshold": study.threshold}),
            MATCHED: (*importance, {"fraction": study.matched}),
            MATCHED_RANDOM: ("random", {"seed": study.seed}, {"fraction": study.matched}),
        }
        works = [
            self._work(
                prune.STAGE,
                arm,
                {
                    "condition": self._graph,
                    "clock": study.clock,
                    "policy": name,
                    "policy_settings": settings,
                    "limit": limit,
                    "models": {},
                },
                {"load": loaded, "graph": stores["store"]},
            )
            for arm, (name, settings, limit) in passes.items()
        ]
        return dict(zip(passes, self._stage(prune.STAGE, works), strict=True))

    def _storage(self, graphs: dict[str, Artefact]) -> Work:
        params = {"threshold": self._graph["settings"]["dedup_threshold"], "seed": self._study.seed}
        return self._work(storage.STAGE, "all", params, graphs)

    # --- the frontier ------------------------------------------------------------------------------------------

    def _frontiers(
        self, loaded: Artefact, asked: Artefact, store: Artefact, merges: dict[str, Artefact]
    ) -> list[Work]:
        """A work for each kind of store and policy; the random ones hold all their draws."""
        study = self._forgetting
        choices = [self._tried(choice) for choice in study.policies]
        randoms = [
            {"policy": name, "settings": {"seed": study.seed}, "name": name}
            for name in ("random", "random_by_degree", "random_by_label")
        ]
        stores: dict[str, dict[str, Artefact]] = {
            "graph-store": {"graph": store},
            "graph-namespaces": {f"merge-{name}": made for name, made in merges.items()},
            "flat-store": {},
            "flat-namespaces": {},
        }
        works = []
        for kind, inputs in stores.items():
            for choice in [*choices, *randoms]:
                if kind.startswith("flat") and choice["policy"] in frontier.GRAPH_ONLY:
                    continue
                params = {
                    "store": kind,
                    "condition": self._graph if kind.startswith("graph") else self._flat,
                    "order": study.order,
                    "clock": study.clock,
                    "policy": choice,
                    "like": {"policy": "importance", "settings": study.importance.model_dump()},
                    "levels": list(study.levels),
                    "draws": study.draws if choice["policy"].startswith("random") else 1,
                    **self._vectors(),
                }
                base = {"load": loaded, "entities": asked, **inputs}
                works.append(self._work(frontier.STAGE, f"{kind}-{choice['name']}", params, base))
        return works

    def _tried(self, choice: PolicyChoice) -> dict[str, Any]:
        """A line of the frontier; importance and its parts start from the study's own weights and readings."""
        own = self._forgetting.importance.model_dump() if choice.policy in OF_IMPORTANCE else {}
        return {**choice.model_dump(), "settings": {**own, **choice.settings}}

    # --- the arms that are answered ----------------------------------------------------------------------------

    def _answer(
        self,
        base: dict[str, Artefact],
        batches: list[Batch],
        graphs: dict[str, Artefact],
        merges: dict[str, Artefact],
    ) -> list[Artefact]:
        loaded = base["load"]
        stores = [*graphs.items(), (FLAT_STORE, None)]
        shared = [self._recall_store(arm, b, loaded, graph) for arm, graph in stores for b in batches]
        single = [
            self._recall_history({**settings, "name": arm}, batch, loaded, merges)
            for arm, settings in zip(PER_HISTORY, (self._graph, self._flat), strict=True)
            for batch in batches
        ]
        recalls = [*self._stage(recall_store.STAGE, shared), *self._stage(recall.STAGE, single)]
        self.made.by_stage[recall.STAGE.name] = recalls
        graph, flat = (condition.answer_prompt for condition in self._study.conditions)
        profiles = [
            flat if work.params["condition"]["system"] == "flat" else graph for work in [*shared, *single]
        ]
        answers = self._stage(answer.STAGE, self._answers(loaded, recalls, profiles))
        verdicts = self._stage(judge.STAGE, self._verdicts(loaded, answers))
        scores = self._stage(score.STAGE, self._scores(loaded, recalls, answers, verdicts))
        self._stage(bootstrap.STAGE, [self._bootstrap(scores, comparisons(list(graphs)))])
        return scores

    def _analysis(
        self,
        loaded: Artefact,
        stored: Artefact,
        lines: list[Artefact],
        scores: list[Artefact],
        graphs: dict[str, Artefact],
    ) -> Work:
        study = self._forgetting
        params = {
            "margin": study.margin,
            "resamples": study.resamples,
            "seed": study.seed,
            "losses": [[arm, NO_FORGETTING] for arm in graphs if arm != NO_FORGETTING],
            "sizes": {
                arm: {t: graph.files[t].rows for t in ("nodes", "edges")} for arm, graph in graphs.items()
            },
        }
        inputs = {
            "load": loaded,
            "storage": stored,
            **{f"frontier-{number:04}": line for number, line in enumerate(lines)},
            **{f"score-{number:04}": part for number, part in enumerate(scores)},
        }
        return self._work(analyse.STAGE, "all", params, inputs)

    def _recall_store(self, arm: str, batch: Batch, loaded: Artefact, graph: Artefact | None) -> Work:
        settings = self._graph if graph else self._flat
        touch = {"touch_on_recall": self._forgetting.access_updates != "none"} if graph else {}
        params: dict[str, Any] = {
            "condition": {**settings, "name": arm, "settings": {**settings["settings"], **touch}},
            "order": self._forgetting.order,
            "access": self._forgetting.access_updates,
            "questions": self._questions_of(batch, loaded),
            **self._vectors(),
        }
        inputs = {"load": loaded}
        if graph:
            params["models"] |= declared(self._study.models, "query")
            params["query_prompt"] = query_prompt_hash()
            inputs["graph"] = graph
        return self._work(recall_store.STAGE, f"{arm}-{batch.name}", params, inputs)

    def _recall_history(
        self, arm: dict[str, Any], batch: Batch, loaded: Artefact, merges: dict[str, Artefact]
    ) -> Work:
        params = self._history_params(arm, batch)
        inputs = {"load": loaded}
        if arm["system"] == "graph":
            params["models"] |= declared(self._study.models, "query")
            params["query_prompt"] = query_prompt_hash()
            inputs["merge"] = merges[batch.name]
        return self._work(recall.STAGE, f"{arm['name']}-{batch.name}", params, inputs)

    def _batches(self, loaded: Artefact) -> list[Batch]:
        batches = super()._batches(loaded)
        if self._forgetting.access_updates != "cumulative":
            return batches
        # Every question sees the accesses of those before it: one batch, in file order.
        histories = tuple(name for batch in batches for name in batch.histories)
        return [Batch("0000", histories, sum(batch.questions for batch in batches))]

    def _questions_of(self, batch: Batch, loaded: Artefact) -> list[str]:
        rows = loaded.read(self._folder, "questions", QUESTIONS).select(["question", "history"]).to_pylist()
        drawn_on = set(batch.histories)
        return [row["question"] for row in rows if row["history"] in drawn_on]


def comparisons(graphs: Sequence[str]) -> list[tuple[str, str]]:
    """What is compared: every forgetting with none, importance with chance, and the store with single histories."""
    forgetting = [(arm, NO_FORGETTING) for arm in graphs if arm != NO_FORGETTING]
    return [
        *forgetting,
        (MATCHED, MATCHED_RANDOM),
        (NO_FORGETTING, PER_HISTORY[0]),
        (FLAT_STORE, PER_HISTORY[1]),
        (NO_FORGETTING, FLAT_STORE),
    ]
