"""Finished runs, small, for the tests of what is done with results."""

from __future__ import annotations

from pathlib import Path

import pytest

from tasks.association_study import CONDITIONS
from tests.flows.own_folder import own_folder
from tests.flows.study_in_loop import conditions, run_in_loop


@pytest.fixture(scope="session")
def representation_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    systems = conditions("none", "bm25", "flat", "flat:improved", "graph", "graph:improved")
    folder = tmp_path_factory.mktemp("representation")
    return run_in_loop(folder, conditions=systems, limit=6, resamples=200, explain=True).folder


@pytest.fixture(scope="session")
def forgetting_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    policies = [{"policy": name} for name in ("importance", "memory_stream", "oldest")]
    folder = tmp_path_factory.mktemp("forgetting")
    return run_in_loop(
        folder,
        study="forgetting",
        limit=6,
        intervals=[50],
        levels=[0.1, 0.5],
        policies=policies,
        draws=3,
        resamples=200,
        threshold=0.5,
    ).folder


@pytest.fixture(scope="session")
def arena_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_in_loop(
        tmp_path_factory.mktemp("arena"),
        benchmark="memoryarena-search",
        data=Path(__file__).parents[1] / "fixtures/memoryarena",
        conditions=conditions("full_context", "bm25:tuned"),
        resamples=200,
    ).folder


@pytest.fixture(scope="session")
def association_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study with a repair and an arm for each table; some figures of so few questions have no interval."""
    needed = ("rag", "gaama", "gaama-semantic", "gaama-improved")
    return run_in_loop(
        tmp_path_factory.mktemp("association"),
        study="association",
        conditions=[arm for arm in CONDITIONS if arm.name in needed],
        limit=3,
        noise_runs=1,
        repair=True,
        planted=3,
        words=(100, 1000),
        resamples=200,
    ).folder


@pytest.fixture(scope="session")
def memories_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A study of memories that leave tables of their own."""
    folder = tmp_path_factory.mktemp("memories")
    return run_in_loop(
        folder, conditions=conditions("none", "gam", "taggraph"), limit=2, resamples=200
    ).folder


@pytest.fixture(scope="session")
def own_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("own")
    data = own_folder(folder / "data", questions=False)
    return run_in_loop(folder, data=data, benchmark="own", conditions=conditions("flat", "graph")).folder


@pytest.fixture(scope="session")
def use_time_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return run_in_loop(
        tmp_path_factory.mktemp("use-time"),
        study="use-time",
        limit=4,
        conditions=[{"system": name} for name in ("none", "flat", "rd_forget")],
        budgets=[400],
        ablation_budget=400,
        joint_budgets=[400],
        kept=[0.5],
        resamples=200,
    ).folder


@pytest.fixture(scope="session")
def ranking_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    arms = conditions("bm25", "flat", "graph")
    folder = tmp_path_factory.mktemp("ranking")
    return run_in_loop(
        folder, study="ranking", conditions=arms, limit=6, sizes=[10, 20], sized_questions=4, resamples=200
    ).folder
