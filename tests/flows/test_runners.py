"""A study in worker processes: the tables and sums that threads give, and one budget for all."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from prefect.client.schemas.objects import State
from prefect.testing.utilities import prefect_test_harness

from flows import runners
from flows.representation import representation
from memory.errors import BadInput
from tasks.kinds import make_study
from tasks.models.budget import Budget
from tasks.runs import read_run
from tests.flows.study_in_loop import conditions, run_in_loop

FIELDS: dict[str, Any] = {"conditions": conditions("flat", "graph"), "limit": 5, "resamples": 100}


@pytest.fixture(scope="module", autouse=True)
def server() -> Iterator[None]:
    with prefect_test_harness(server_startup_timeout=180):
        yield


def in_processes(folder: Path, **fields: Any) -> State[Any]:
    study = make_study({**FIELDS, "runner": "processes", **fields})
    state: State[Any] = representation(
        study, store=str(folder / "store"), out=str(folder / "run"), outside=True, return_state=True
    )
    return state


def rows(folder: Path) -> pd.DataFrame:
    found = pd.read_parquet(folder / "metrics.parquet")
    return found.sort_values(["question", "condition"], ignore_index=True)


def bought(folder: Path) -> list[str]:
    calls = pd.read_parquet(folder / "calls.parquet")
    return sorted(calls[calls["outcome"] == "paid"]["call_id"])


def test_processes_keep_one_budget_and_with_more_of_it_make_the_tables_that_one_process_makes(
    tmp_path: Path,
) -> None:
    short = in_processes(tmp_path, budget=Budget(calls=60))
    assert short.name == "BudgetExhausted", short.message
    assert len(bought(tmp_path / "run")) == 60
    assert "of 60 calls, 60 calls are made" in read_run(tmp_path / "run").reason
    whole = in_processes(tmp_path)
    assert whole.is_completed(), whole.message
    alone = run_in_loop(tmp_path / "alone", **FIELDS)
    pd.testing.assert_frame_equal(rows(tmp_path / "run"), rows(alone.folder))
    assert bought(tmp_path / "run") == bought(alone.folder)


def test_a_runner_whose_package_is_missing_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runners, "find_spec", lambda name: None)
    with (
        pytest.raises(BadInput, match=r"--runner ray: pip install 'palimpsest\[ray\]' first"),
        runners.executing(make_study({"runner": "ray"})),
    ):
        pass
