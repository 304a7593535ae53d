"""The use-time study on small conversations: what it makes, what it asks, and what a second run pays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import results
from memory import tokens
from memory.packing import cost
from results.export import FOR_PAPERS, chosen, to_latex
from tasks.context import closed_models
from tasks.stage import perform
from tasks.start import judge_anew
from tests.flows.study_in_loop import Watched, run_in_loop

STUDY: dict[str, Any] = {
    "study": "use-time",
    "limit": 6,
    "conditions": [
        {"system": "bm25", "profile": "improved", "name": "bm25"},
        {"system": "flat", "profile": "improved", "name": "flat"},
        {"system": "rd_forget", "answer_prompt": "improved"},
    ],
    "budgets": [60, 400],
    "ablation_budget": 400,
    "joint_budgets": [400],
    "kept": [0.5],
    "resamples": 200,
}
FIGURES = ("judge", "f1", "context_evidence")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return run_in_loop(tmp_path_factory.mktemp("use-time"), **STUDY)


def test_every_arm_is_answered_scored_and_in_the_tables(run: Watched) -> None:
    means = run.table("use_time")
    assert set(run.table("metrics")["condition"]) == set(means["arm"])
    assert set(means["figure"]) == set(FIGURES)
    assert set(means["part"]) == {"system", "ablation", "open", "joint"}
    assert (means["n"] + means["missing"] == 6).all()


def test_no_context_costs_more_than_its_budget(run: Watched) -> None:
    means = run.table("use_time").drop_duplicates("arm").set_index("arm")
    recalls = run.table("recalls")
    for row in recalls.to_dict("records"):
        assert tokens.count(row["context"]) <= means.loc[row["condition"], "tokens"], row["condition"]
    small, large = (recalls[recalls["condition"] == f"flat-b{b}"]["context_tokens"] for b in (60, 400))
    assert (large.to_numpy() >= small.to_numpy()).all()
    assert cost("one entry", 8) == tokens.count("one entry") + 8


def test_storage_that_forgot_half_of_its_bytes_holds_no_more_than_half(run: Watched) -> None:
    sizes = run.table("recalls").set_index(["condition", "question"])["memory_bytes"].unstack(0)
    for selection in ("flat", "rd_forget"):  # an index of words takes bytes beside those of the turns
        whole = sizes[f"{selection}-b400"]
        for policy in ("importance", "random"):
            assert (sizes[f"{selection}-{policy}-50-b400"] <= whole / 2).all()


def test_evidence_in_the_context_is_that_of_the_turns_it_stands_on(run: Watched) -> None:
    recalls = run.table("recalls").set_index(["condition", "question"])
    questions = run.table("questions").set_index("question")
    for row in run.table("metrics").to_dict("records"):
        evidence = set(questions.loc[row["question"], "evidence"])
        if row["abstention"] or not evidence:
            assert pd.isna(row["context_evidence"])
            continue
        shown = set(recalls.loc[(row["condition"], row["question"]), "shown"])
        assert row["context_evidence"] == pytest.approx(len(evidence & shown) / len(evidence))


def test_ablations_and_differences_are_paired_with_rd_forget_at_the_same_budget(run: Watched) -> None:
    differences = run.table("use_time_differences")
    assert {tuple(pair) for pair in differences[["a", "b"]].to_numpy()} == {
        (f"rd_forget-b{b}", f"{other}-b{b}") for b in (60, 400) for other in ("bm25", "flat")
    }
    ablations = run.table("ablations")
    assert {"-FORGET", "-RESCUE", "-SLOT", "-CLOSURE", "-QC"} <= set(ablations["variant"])
    assert ablations["printed"].isna().all(), "the sample is none of the paper's suites"


def test_the_run_leaves_text_and_figures(run: Watched) -> None:
    for name in ("use_time", "use_time_differences", "ablations", "joint"):
        assert (run.folder / f"{name}.md").read_text().count("|") > 10
        assert "tabular" in (run.folder / f"{name}.tex").read_text()
    for name in ("rate_distortion", "ablations", "storage_by_use"):
        assert (run.folder / f"figures/{name}.svg").stat().st_size > 1000


def test_its_tables_are_exported_as_latex_as_the_run_wrote_them(run: Watched, tmp_path: Path) -> None:
    loaded = results.load(run.folder)
    names = [name for name in FOR_PAPERS if name in chosen(loaded)]
    to_latex(loaded, tmp_path, names)
    for name in ("use_time", "use_time_differences", "ablations", "joint"):
        assert (tmp_path / f"{name}.tex").read_bytes() == (run.folder / f"{name}.tex").read_bytes()


def test_another_judge_leaves_tables_of_its_own(run: Watched) -> None:
    other = run.run.model_copy(update={"study": run.run.study.model_copy(update={"judge": "per_type"})})
    with closed_models():
        to = judge_anew(run.folder, other, lambda stage, works: [perform(stage, work) for work in works])
    for name in ("use_time", "use_time_differences", "ablations", "joint"):
        assert (to / f"{name}.md").exists(), name
        assert len(pd.read_parquet(to / f"{name}.parquet")) == len(run.table(name))


def test_a_second_run_makes_nothing(run: Watched) -> None:
    again = run_in_loop(run.folder.parent, **STUDY)
    assert again.made_stages == []


def test_a_study_without_rd_forget_has_its_means_and_no_differences(tmp_path: Path) -> None:
    arms = [{"system": "bm25", "profile": "improved", "name": "bm25"}]
    made = run_in_loop(tmp_path, **STUDY | {"conditions": arms, "limit": 2, "kept": []})
    assert set(made.table("use_time")["part"]) == {"system"}
    assert made.table("use_time_differences").empty
    assert not (made.folder / "ablations.parquet").exists()
