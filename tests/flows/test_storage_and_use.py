"""Whole runs in which memories forget in storage and show what a budget of tokens takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from memory.errors import BadInput
from tests.flows.study_in_loop import Watched, run_in_loop

BUDGET = 40
SYSTEMS = ("flat", "graph", "oracle")
SMALL = Path(__file__).parents[1] / "fixtures/memoryarena"


def arm(name: str, system: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, "system": system, "settings": settings}


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    arms = []
    for system in SYSTEMS:
        pruned = {"retention": "random", "kept": 0.5}
        arms.append(arm(system, system))
        arms.append(arm(f"{system}-budget", system, budget_tokens=BUDGET))
        arms.append(arm(f"{system}-both", system, budget_tokens=BUDGET, **pruned))
        arms.append(arm(f"{system}-kept", system, **pruned))
    return run_in_loop(tmp_path_factory.mktemp("run"), conditions=arms, resamples=100, limit=5)


@pytest.fixture(scope="module")
def recalls(run: Watched) -> pd.DataFrame:
    return run.table("recalls").set_index(["condition", "question"]).sort_index()


@pytest.mark.parametrize("system", SYSTEMS)
def test_no_context_of_a_run_takes_more_tokens_than_its_budget(recalls: pd.DataFrame, system: str) -> None:
    for name in (f"{system}-budget", f"{system}-both"):
        of_arm = recalls.loc[name]
        assert (of_arm["status"] == "ok").all()
        assert of_arm["context_tokens"].max() <= BUDGET
        assert of_arm["items"].sum() > 0
    assert recalls.loc[system]["context_tokens"].max() > BUDGET


@pytest.mark.parametrize("system", SYSTEMS)
def test_a_recall_says_how_many_bytes_were_kept_whatever_its_budget(
    recalls: pd.DataFrame, system: str
) -> None:
    nbytes = {
        name: recalls.loc[name]["memory_bytes"] for name in (system, f"{system}-kept", f"{system}-both")
    }
    assert (nbytes[f"{system}-kept"] == nbytes[f"{system}-both"]).all()
    if system == "graph":  # its tables also hold the turns that it has heard
        assert (nbytes["graph-kept"] < 0.75 * nbytes["graph"]).all()
    else:
        assert (nbytes[f"{system}-kept"] <= (0.5 * nbytes[system]).round()).all()


def test_the_oracle_says_which_evidence_the_storage_has_lost(recalls: pd.DataFrame) -> None:
    lost = recalls.loc["oracle-kept"]["flags"].map(lambda flags: "evidence_missing" in flags)
    assert lost.any()
    assert not recalls.loc["oracle"]["flags"].map(lambda flags: "evidence_missing" in flags).any()


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"benchmark": "memoryarena-search", "data": SMALL}, "asks in between of its sessions; leave it out"),
        ({"study": "forgetting"}, "the forgetting study applies policies of its own"),
    ],
)
def test_forgetting_in_storage_is_refused_where_no_session_is_the_last(
    tmp_path: Path, fields: dict[str, Any], message: str
) -> None:
    arms = [arm("graph", "graph", retention="oldest", kept=0.5), arm("flat", "flat")]
    with pytest.raises(BadInput, match=f"condition graph: retention: .*{message}"):
        run_in_loop(tmp_path, conditions=arms, **fields)


def test_a_policy_that_a_system_cannot_follow_is_refused_in_one_line(tmp_path: Path) -> None:
    with pytest.raises(
        BadInput, match=r"condition words: .*retention fademem reads vectors, and this system keeps none"
    ):
        run_in_loop(tmp_path, conditions=[arm("words", "bm25", retention="fademem", kept=0.5)])
