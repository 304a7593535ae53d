"""The built-in sample, offline: what `make study` shows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from memory.errors import BadInput
from results.tables import read
from tasks.context import closed_models
from tasks.execute import in_loop
from tasks.runs import read_run
from tasks.start import judge_anew
from tests.flows.study_in_loop import Watched, conditions, run_in_loop


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    return run_in_loop(tmp_path_factory.mktemp("sample"))


def means(run: Watched, metric: str) -> dict[str, float]:
    return run.table("metrics").groupby("condition")[metric].mean().to_dict()


def test_oracle_beats_flat_and_flat_beats_none(sample: Watched) -> None:
    f1, judged = means(sample, "f1"), means(sample, "judge")
    assert f1["oracle"] > f1["flat"] > f1["none"]
    assert judged["oracle"] > judged["flat"] > judged["none"]


def test_flat_and_graph_differ_on_at_least_two_questions(sample: Watched) -> None:
    metrics = sample.table("metrics").set_index("question")
    flat, graph = (metrics[metrics.condition == name]["f1"] for name in ("flat", "graph"))
    assert (flat != graph).sum() >= 2


def test_every_question_has_a_row_in_every_condition(sample: Watched) -> None:
    asked = len(sample.table("questions"))
    conditions = [condition.name for condition in sample.run.study.conditions]
    for table in ("recalls", "answers", "verdicts", "metrics"):
        assert sample.table(table).groupby("condition")["question"].nunique().to_dict() == dict.fromkeys(
            conditions, asked
        )


def test_the_oracle_recalls_the_evidence_and_none_recalls_nothing(sample: Watched) -> None:
    recall = means(sample, "turn_recall_5")
    assert recall["oracle"] == 1.0
    assert recall["none"] == 0.0


def test_abstention_has_no_retrieval_figure(sample: Watched) -> None:
    metrics = sample.table("metrics")
    assert metrics[metrics.abstention]["turn_recall_5"].isna().all()
    assert metrics[~metrics.abstention]["turn_recall_5"].notna().all()


def test_a_verdict_that_does_not_parse_is_no_zero(sample: Watched) -> None:
    joined = sample.table("metrics").merge(sample.table("verdicts"), on=["question", "condition"])
    unparsed = joined[joined.status_y == "unparsed"]
    assert len(unparsed) > 0, "the lexical judge is expected to be unsure of some answers of the sample"
    assert unparsed["judge_x"].isna().all()


def test_equal_turns_are_extracted_once(sample: Watched) -> None:
    turns, extractions = sample.table("turns"), sample.table("extractions")
    assert turns["content"].duplicated().any(), "the sample shares sessions between histories"
    assert sorted(extractions["content"]) == sorted(set(turns["content"]))


def test_the_run_says_what_it_is_and_that_it_is_complete(sample: Watched) -> None:
    run = read_run(sample.folder)
    assert run.status == "complete"
    assert run.counts["load"]["questions"] == 12
    assert run.sha256
    assert run.versions["prefect"]


def test_graphs_come_back_from_parquet_by_condition(sample: Watched) -> None:
    for condition in ("graph", "graph-improved"):
        nodes = read(sample.folder / "graphs" / condition / "nodes.parquet")
        assert set(nodes["history"].to_pylist()) == set(sample.table("questions")["history"])


def test_the_papers_tables_are_there_in_three_forms(sample: Watched) -> None:
    for table in ("table_1", "table_5", "table_6", "table_7"):
        assert len(pd.read_parquet(sample.folder / f"{table}.parquet")) > 0
        assert (sample.folder / f"{table}.md").read_text().count("|") > 10
        assert "\\toprule" in (sample.folder / f"{table}.tex").read_text()


def test_a_second_run_makes_nothing(sample: Watched) -> None:
    again = run_in_loop(Path(sample.folder).parent)
    assert again.made_stages == []


def test_every_table_says_which_data_it_stands_on(sample: Watched) -> None:
    tables = list(sample.folder.glob("*.parquet")) + list((sample.folder / "graphs").rglob("*.parquet"))
    assert len(tables) >= 15
    for path in tables:
        metadata = read(path).schema.metadata
        assert metadata[b"palimpsest.data_sha256"].decode() == sample.run.sha256, path
        assert metadata[b"palimpsest.variant"].decode() == sample.run.variant
        assert metadata[b"palimpsest.schema_version"] == b"1"


def test_rejudging_a_run_that_lacks_answers_is_refused_and_answers_nothing(tmp_path: Path) -> None:
    run = run_in_loop(tmp_path, conditions=conditions("flat"))
    for part in (run.folder / "parts" / "answer").iterdir():
        part.unlink()
    with closed_models(), pytest.raises(BadInput, match="start the study again first"):
        judge_anew(run.folder, run.run, in_loop)
    assert not list((run.folder / "parts" / "answer").iterdir())
