"""Table 3: every free parameter of a study, with what its value stands on."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from results.table_3 import table_3
from tasks.kinds import make_study
from tasks.parameters import Parameter, parameters
from tasks.runs import read_run
from tests.flows.study_in_loop import conditions, run_in_loop
from tests.tasks.test_thresholds import PROBED


def of(name: str, **fields: Any) -> list[Parameter]:
    return [each for each in parameters(make_study(fields)) if each.parameter == name]


def graph(**settings: Any) -> list[dict[str, Any]]:
    return [{"system": "graph", "settings": settings}]


def test_what_the_paper_sets_stands_on_the_paper() -> None:
    found = [
        (p.parameter, p.value) for p in parameters(make_study({"conditions": graph()})) if p.basis == "paper"
    ]
    assert found == [("roots", 5), ("hops", 2), ("max_nodes", 15)]


def test_the_papers_embedder_has_the_papers_thresholds() -> None:
    for name, value in (("dedup_threshold", 0.92), ("retrieval_floor", 0.75)):
        (found,) = of(name, conditions=graph(), models="published")
        assert (found.value, found.basis, found.paper_value) == (value, "paper", value)


def test_a_threshold_says_which_pairs_chose_it_or_that_none_did() -> None:
    name = "dedup_threshold"
    (built_in,) = of(name, conditions=graph())
    assert built_in.basis == "calibrated on 200 descriptor and 100 question pairs"
    (own,) = of(name, conditions=graph(), thresholds=PROBED)
    assert own.basis == "calibrated on 120 descriptor and 60 question pairs, given with the study"
    (guessed,) = of(name, conditions=graph(), models="openai")
    assert guessed.basis == "estimate, not probed"


def test_what_a_condition_sets_stands_on_the_study_and_what_its_profile_adds_on_the_profile() -> None:
    fields = {"conditions": [{**graph(roots=9, retrieval_floor=0.2)[0], "profile": "improved"}]}
    assert [(p.value, p.basis, p.paper_value) for p in of("roots", **fields)] == [(9, "set by the study", 5)]
    assert [p.basis for p in of("retrieval_floor", **fields)] == ["set by the study"]
    assert [(p.value, p.basis, p.paper_value) for p in of("max_edges", **fields)] == [
        (40, "profile improved", None)
    ]


def test_a_study_without_a_graph_has_no_such_parameters() -> None:
    assert parameters(make_study({"conditions": [{"system": "flat"}]})) == []


def test_the_forgetting_study_adds_its_score_and_when_it_forgets() -> None:
    fields: dict[str, Any] = {"study": "forgetting", "importance": {"half_life_days": 30}, "intervals": [400]}
    found = {p.parameter: (p.value, p.basis) for p in parameters(make_study(fields)) if p.profile is None}
    assert found == {
        "recency": (0.35, "paper"),
        "frequency": (0.25, "paper"),
        "centrality": (0.20, "paper"),
        "turns": (0.20, "paper"),
        "half_life_days": (30, "set by the study"),
        "half_life_turns": (1_000, "paper"),
        "threshold": (0.10, "paper"),
        "interval": (400, "paper"),
    }


def test_the_table_is_written_for_people_with_dashes_where_the_paper_has_nothing() -> None:
    rows = [
        Parameter("graph", "improved", "max_edges", 40.0, "profile improved"),
        *of("roots", conditions=graph()),
    ]
    made = table_3([asdict(row) for row in rows])
    assert made.rows[0] == ("graph", "improved", "max_edges", "40", "profile improved", "–", "–")
    assert made.rows[1][:6] == ("graph", "published", "roots", "5", "paper", "5")
    assert made.arrow()["paper_value"].to_pylist() == [None, 5.0]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    return run_in_loop(
        folder, conditions=conditions("graph"), resamples=100, limit=2, thresholds=PROBED
    ).folder


def test_a_run_leaves_the_table_in_three_forms(run: Path) -> None:
    frame = pd.read_parquet(run / "table_3.parquet")
    assert dict(zip(frame["parameter"], frame["value"], strict=True))["dedup_threshold"] == PROBED.dedup
    assert "given with the study" in (run / "table_3.md").read_text()
    assert "\\toprule" in (run / "table_3.tex").read_text()


def test_a_run_records_which_thresholds_it_used_and_where_they_come_from(run: Path) -> None:
    found = [(each["condition"], each["parameter"], each["value"]) for each in read_run(run).thresholds]
    assert found == [("graph", "dedup_threshold", 0.91), ("graph", "retrieval_floor", 0.33)]
    assert all("given with the study" in each["basis"] for each in read_run(run).thresholds)
