"""A live memory ends where the forgetting study's ingestion ends: the same turns, models, schedule and limit."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.forgetting.limits import Limit, Schedule
from memory.forgetting.maintenance import Maintenance
from memory.forgetting.policies import policy
from memory.live import LiveMemory
from memory.systems.graph import GraphMemory
from memory.tables import same
from tasks import ingest, load
from tasks.context import closed_models, declared, open_chat, open_memory
from tasks.execute import in_loop
from tasks.ingest import graph_from
from tasks.kinds import make_study
from tasks.plan import Artefacts, Plan
from tasks.start import start

EVERY, THRESHOLD = 5, 0.6


class IngestPlan(Plan):
    """Ingests the first histories in one segment, with a pass every few turns."""

    def walk(self) -> Artefacts:
        base = self._hear()
        params = {
            "condition": self._study.arm(self._study.conditions[0]),
            "order": "file",
            "first": 0,
            "count": 10_000,
            "models": declared(self._study.models, "extractor", "query", "embedder"),
            "schedule": {"every": EVERY},
            "limit": {"threshold": THRESHOLD},
            "importance": {},
        }
        self.work = self._work(ingest.STAGE, "live-0000", params, base)
        self._stage(ingest.STAGE, [self.work])
        return self.made


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("store")


@pytest.mark.parametrize("profile", ["published", "improved"])
def test_stepping_through_a_store_leaves_the_graph_that_the_study_ingests(
    store: Path, tmp_path: Path, profile: str
) -> None:
    condition = {"system": "graph", "profile": profile, "settings": {"touch_on_recall": False}}
    study = make_study({"limit": 1, "conditions": [condition]})
    folder, run = start(study, None, store, tmp_path / "run")
    plan = IngestPlan(folder, run, in_loop)
    with closed_models():
        artefact = plan.walk().by_stage["ingest"][0]
        work = plan.work
        ingested = graph_from(work, {name: artefact.read(folder, name) for name in ingest.GRAPH_TABLES})
        memory = open_memory(work.params["condition"], work)
        maintenance = Maintenance(policy("importance"), Schedule(every=EVERY), Limit(threshold=THRESHOLD))
        live = LiveMemory(memory, open_chat(work, "extractor"), maintenance=maintenance)
        steps = [
            live.step(turn, session)
            for session in ingest.in_store_order(load.loaded(work)[0], "file")
            for turn in session.turns
        ]
    assert isinstance(memory, GraphMemory)
    assert same(memory.graph, ingested.graph)
    assert len(memory.graph) > 0
    assert sum(step.forgotten.items for step in steps if step.forgotten) > 0
    assert [number for number, step in enumerate(steps, start=1) if step.forgotten] == [
        number for number in range(1, len(steps) + 1) if number % EVERY == 0
    ]
    passes = artefact.read(folder, "passes")
    assert sum(step.forgotten.table.num_rows for step in steps if step.forgotten) == passes.num_rows
