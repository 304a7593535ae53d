"""The forgetting study on the sample, offline: one store, ways to forget it, and what that costs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from memory.errors import BadInput
from results.tables import read
from tasks import forgetting_plan
from tasks.context import closed_models
from tasks.execute import in_loop
from tasks.kinds import make_study
from tasks.stage import Artefact, Stage, Work
from tasks.start import carry_out, stages_of, start
from tests.flows.study_in_loop import Watched, run_in_loop

SMALL: dict[str, Any] = {
    "study": "forgetting",
    "intervals": [100],
    "levels": [0.1, 0.5],
    "policies": [{"policy": name} for name in ("importance", "recency", "pagerank", "oldest")],
    "draws": 3,
    "resamples": 200,
    "threshold": 0.5,
}


IMPROVED = [
    {"system": "graph", "profile": "improved", "name": "graph"},
    {"system": "flat", "profile": "improved", "name": "flat"},
]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return run_in_loop(tmp_path_factory.mktemp("forgetting"), **SMALL)


def graph(folder: Path, arm: str) -> dict[str, Any]:
    return {
        table: read(folder / "graphs" / arm / f"{table}.parquet")
        for table in ("nodes", "edges", "titles", "turns")
    }


def test_the_stages_that_progress_counts_are_those_of_the_study_in_their_order(run: Watched) -> None:
    assert tuple(run.made) == stages_of(run.run.study)


def test_the_frontier_has_a_row_for_each_store_policy_level_and_draw(run: Watched) -> None:
    frontier = run.table("frontier")
    assert frontier["n"].gt(0).all()
    by_store = frontier[frontier.level > 0].groupby(["store", "policy"]).size().unstack()
    assert (by_store.loc["graph-store", ["importance", "recency", "pagerank", "oldest"]] == 2).all()
    assert (by_store.loc["graph-store", ["random", "random_by_degree", "random_by_label"]] == 3 * 2).all()
    assert set(by_store.index) == {"graph-store", "graph-namespaces", "flat-store", "flat-namespaces"}


def test_chance_forgets_exactly_as_many_as_the_policies_and_its_draws_differ(run: Watched) -> None:
    frontier = run.table("frontier")
    for _, rows in frontier[frontier.level > 0].groupby(["store", "level"]):
        assert rows["forgotten"].nunique() == 1
    rows = run.table("frontier_rows").query("store == 'graph-store' and policy == 'random' and level == 0.5")
    draws = [
        tuple(part["recall_5"].round(9)) + tuple(part["survival"].round(9))
        for _, part in rows.groupby("draw")
    ]
    assert len(set(draws)) == len(draws) == 3


def test_forgetting_nothing_measures_what_the_real_recall_finds(run: Watched) -> None:
    frozen = run.table("frontier_rows").query(
        "store == 'graph-store' and policy == 'importance' and level == 0"
    )
    metrics = run.table("metrics").query("condition == 'graph-store' and turn_recall_5 == turn_recall_5")
    joined = frozen.merge(metrics, on="question")
    assert len(joined) == len(metrics) == 11
    for figure in ("recall_1", "recall_5", "recall_10", "mrr"):
        assert joined[figure].tolist() == pytest.approx(joined[f"turn_{figure}"].tolist()), figure


def test_a_matched_arm_measures_what_its_point_of_the_frontier_does(tmp_path: Path) -> None:
    fields = {**SMALL, "levels": [0.098, 0.5], "policies": [{"policy": "importance"}], "draws": 2}
    run = run_in_loop(tmp_path, **fields)
    point = run.table("frontier_rows").query(
        "store == 'graph-store' and policy == 'importance' and level == 0.098"
    )
    answered = run.table("metrics").query("condition == 'graph-store-matched'").set_index("question")
    expected = answered.loc[point["question"], "turn_mrr"]
    assert point["mrr"].tolist() == pytest.approx(expected.tolist())


def test_the_sweep_buys_nothing_twice(run: Watched) -> None:
    calls = run.table("calls")
    bought = calls[calls.outcome.isin(["paid", "unusable"])]
    assert not bought["call_id"].duplicated().any()
    assert set(bought["stage"]) <= {"extract", "embed", "entities", "recall", "answer", "judge"}
    assert bought[bought.stage.isin(["frontier", "ingest", "prune"])].empty


def test_table_2_and_the_losses_stand_for_every_arm(run: Watched) -> None:
    arms = set(run.table("table_2")["arm"])
    assert {"graph-store", "graph-store-forgetting", "graph-store-matched", "graph-store-random"} <= arms
    assert {"graph-store-every-100", "graph-history", "flat-store", "flat-history"} <= arms
    table = run.table("table_2").set_index("arm")
    assert table.loc["graph-store-matched", "nodes"] == table.loc["graph-store-random", "nodes"]
    assert table.loc["graph-store-forgetting", "nodes"] < table.loc["graph-store", "nodes"]
    losses = run.table("noninferiority")
    assert set(losses["against"]) == {"graph-store"}
    assert ((losses["lower"] > -losses["margin"]) == losses["non_inferior"]).all()


def test_every_pass_says_what_became_of_each_node(run: Watched) -> None:
    table = run.table("forgetting")
    nodes = read(run.folder / "graphs" / "store" / "nodes.parquet").num_rows
    assert table.groupby("arm").size().to_dict() == dict.fromkeys(table["arm"].unique(), nodes)
    kept = table[(table.arm == "graph-store-forgetting") & (table.fate == "kept")]
    assert set(kept["id"]) == set(graph(run.folder, "graph-store-forgetting")["nodes"]["id"].to_pylist())
    assert (kept["score"] >= SMALL["threshold"]).all()


def test_what_was_forgotten_is_archived_whole(run: Watched) -> None:
    arm = run.folder / "graphs" / "graph-store-forgetting"
    gone = set(read(arm / "archive_nodes.parquet")["id"].to_pylist())
    table = run.table("forgetting").query("arm == 'graph-store-forgetting' and fate == 'forgotten'")
    assert gone == set(table["id"])
    assert len(gone) > 0


def test_periodic_passes_fall_after_every_so_many_turns(run: Watched) -> None:
    passes = run.table("forgetting_periodic").groupby("arm")["turn_counter"].unique()
    turns = run.run.counts["load"]["turns"]
    assert sorted(passes["every-100"]) == list(range(100, turns + 1, 100))


def test_a_store_on_a_budget_never_keeps_more_and_forgets_to_nine_tenths(tmp_path: Path) -> None:
    fields = {**SMALL, "intervals": [], "budgets": [200], "policies": [{"policy": "importance"}], "draws": 2}
    run = run_in_loop(tmp_path, **{**fields, "order": "time", "conditions": IMPROVED})
    growth = run.table("growth").query("arm == 'budget-200'")
    assert growth["nodes"].max() <= 200
    passes = run.table("forgetting_periodic").query("arm == 'budget-200'")
    assert len(passes) > 0
    assert (passes.query("fate == 'kept'").groupby("pass").size() == 180).all()


def test_the_graph_does_not_depend_on_where_its_ingestion_was_stopped(
    run: Watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(forgetting_plan, "TURNS_A_SEGMENT", 60)

    class Killed(Exception):
        pass

    done: list[str] = []

    def execute(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        if stage.name == "ingest" and len(done) == 3:
            raise Killed
        if stage.name == "ingest":
            done.append(works[0].batch)
        return in_loop(stage, works)

    study = make_study(dict(SMALL))
    folder, started = start(study, None, tmp_path / "store", tmp_path / "run")
    with pytest.raises(Killed), closed_models():
        carry_out(folder, started, execute)
    resumed = run_in_loop(tmp_path, **SMALL)
    assert set(done) <= set(resumed.found["ingest"])
    for arm in ("store", "every-100", "graph-store-forgetting"):
        first, second = graph(run.folder, arm), graph(resumed.folder, arm)
        assert all(first[table].equals(second[table]) for table in first), arm


def test_a_second_run_makes_nothing(run: Watched) -> None:
    assert run_in_loop(run.folder.parent, **SMALL).made_stages == []


BAD: list[tuple[dict[str, Any], str]] = [
    ({"threshold": 1.5}, "threshold"),
    ({"threshold": 0}, "threshold"),
    ({"matched": 1}, "matched"),
    ({"margin": 0}, "margin"),
    ({"draws": 1}, "draws"),
    ({"levels": [0.5, 0.2]}, "levels"),
    ({"levels": [0.5, 1.0]}, "levels"),
    ({"intervals": [0]}, "intervals"),
    ({"importance": {"recency": -0.1}}, "importance.recency"),
    ({"importance": {"recency": 0.5}}, "importance"),
    ({"importance": {"half_life_days": 0}}, "importance.half_life_days"),
    ({"policies": [{"policy": "nonsense"}]}, "nonsense"),
    ({"policies": [{"policy": "recency", "settings": {"half_life_turns": -1}}]}, "half_life_turns"),
    ({"policies": [{"policy": "oldest"}, {"policy": "oldest"}]}, "oldest"),
    ({"conditions": [{"system": "flat"}, {"system": "graph"}]}, "conditions"),
    ({"access_updates": "sometimes"}, "access_updates"),
]


@pytest.mark.parametrize(("fields", "named"), BAD, ids=[named for _, named in BAD])
def test_a_bad_study_is_refused_before_anything_runs_naming_the_field(
    fields: dict[str, Any], named: str
) -> None:
    with pytest.raises(BadInput, match=named) as refused:
        make_study({"study": "forgetting", **fields})
    assert "\n" not in str(refused.value)


def test_questions_that_see_earlier_accesses_are_asked_in_one_batch(tmp_path: Path) -> None:
    run = run_in_loop(tmp_path, **{**SMALL, "access_updates": "cumulative", "intervals": [200]})
    assert run.made["recall"].count("graph-store-0000") == 1
    assert run.table("recalls").query("condition == 'graph-store'")["question"].nunique() == 12


def test_why_explains_a_nodes_fate(run: Watched, capsys: pytest.CaptureFixture[str]) -> None:
    from flows.why import print_why

    row = pd.DataFrame(run.table("forgetting")).query("fate == 'forgotten'").iloc[0]
    print_why(run.folder, row["id"])
    printed = capsys.readouterr().out
    assert f"{row['arm']}: {row['label']}" in printed
    assert "was forgotten" in printed
    with pytest.raises(BadInput, match="nonsense"):
        print_why(run.folder, "nonsense")


def test_a_forgetting_run_prints_table_2_the_losses_and_importance_against_chance(
    run: Watched, capsys: pytest.CaptureFixture[str]
) -> None:
    from flows.reporting import print_run

    print_run(run.folder)
    printed = capsys.readouterr().out
    for part in ("table 2", "losses against no forgetting", "importance minus chance", "graph-store-matched"):
        assert part in printed


def test_the_figures_are_there_as_png_and_svg(run: Watched) -> None:
    figures = run.folder / "figures"
    names = {"frontier_recall_5", "frontier_mrr", "frontier_survival", "scores", "forgotten", "growth"}
    assert {path.stem for path in figures.glob("*.png")} == names
    assert {path.stem for path in figures.glob("*.svg")} == names


def test_the_frontier_and_the_answers_follow_the_studys_own_settings(tmp_path: Path) -> None:
    own = {"recency": 0.1, "frequency": 0.1, "centrality": 0.7, "turns": 0.1}
    fields = {**SMALL, "importance": own, "matched": 0.5, "policies": [{"policy": "importance"}], "draws": 2}
    run = run_in_loop(tmp_path, **{**fields, "intervals": [], "conditions": IMPROVED})
    point = run.table("frontier_rows").query(
        "store == 'graph-store' and policy == 'importance' and level == 0.5"
    )
    answered = run.table("metrics").query("condition == 'graph-store-matched'").set_index("question")
    assert point["mrr"].tolist() == pytest.approx(answered.loc[point["question"], "turn_mrr"].tolist())
    published = run_in_loop(tmp_path / "published", **{**fields, "intervals": []})
    ours, theirs = (
        r.table("answers").query("condition == 'flat-history'")["answer"].tolist() for r in (run, published)
    )
    assert ours != theirs, "the improved answer prompt is shown dates and may abstain"
