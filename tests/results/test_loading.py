"""A run loads as typed frames in one line, whatever version wrote it; DuckDB reads the same files."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import results
from memory.errors import BadInput
from results.columns import documented
from results.schemas import ANSWERS, METRICS
from results.tables import from_rows, write

METRIC_ROWS = [
    {"question": "q1", "condition": "flat", "type": "b", "f1": 0.5, "context_tokens": 7, "abstention": False},
    {"question": "q2", "condition": "flat", "type": "a", "status": "failed"},
    {"question": "q1", "condition": "bm25", "type": "b", "f1": 1.0, "context_tokens": 9, "abstention": True},
]


def small_run(folder: Path, status: str = "complete", **fields: Any) -> Path:
    """A run folder of one table."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "run.json").write_text(json.dumps({"name": "small", "status": status, **fields}))
    write(folder / "metrics.parquet", from_rows(METRIC_ROWS, METRICS))
    return folder


def test_every_table_of_a_run_loads_with_its_documented_types(
    representation_run: Path, forgetting_run: Path
) -> None:
    wanted = {
        "string": "string",
        "category": "category",
        "bool": "boolean",
        "int32": "Int32",
        "int64": "Int64",
        "double": "float64",
        "timestamp": "datetime64[us, UTC]",
    }
    for folder in (representation_run, forgetting_run):
        run = results.load(folder)
        assert {"metrics", "answers", "verdicts", "recalls", "extractions", "questions", "calls"} <= set(
            run.names
        )
        for name in run.names:
            frame = getattr(run, name)
            assert len(frame) == pq.read_metadata(folder / f"{name}.parquet").num_rows
            for column in documented()[name].columns:
                assert str(frame[column.name].dtype) == wanted.get(column.type, "object"), (name, column.name)


def test_a_null_is_missing_in_every_type_and_never_zero_or_a_text(tmp_path: Path) -> None:
    failed = results.load(small_run(tmp_path / "run")).metrics.iloc[1]
    assert failed[["f1", "context_tokens", "abstention", "reason", "judge_status"]].isna().all()
    assert failed["status"] == "failed"


def test_categories_come_in_the_order_of_the_file(tmp_path: Path) -> None:
    metrics = results.load(small_run(tmp_path / "run")).metrics
    assert list(metrics["condition"].cat.categories) == ["flat", "bm25"]
    assert metrics.groupby("condition", observed=True)["f1"].mean().to_dict() == {"flat": 0.5, "bm25": 1.0}


def test_run_json_is_a_dictionary_and_a_table_is_read_once(representation_run: Path) -> None:
    run = results.load(representation_run)
    assert run.run["study"]["benchmark"] == "sample"
    assert run.metrics is run.metrics
    assert {"metrics", "graph", "run"} <= set(dir(run))
    assert repr(run).startswith(f"<run {run.run['name']}, complete: answers, ")


def test_a_graph_is_loaded_by_its_condition_and_its_vectors_stack(representation_run: Path) -> None:
    run = results.load(str(representation_run))
    assert run.graphs == ["graph", "graph-improved"]
    nodes = run.graph("graph").nodes
    matrix = np.stack(nodes["vector"])
    assert matrix.dtype == np.float32
    assert np.allclose(np.linalg.norm(matrix, axis=1), 1, atol=1e-5)
    with pytest.raises(BadInput, match="has no graph 'flat'; it has graph, graph-improved"):
        run.graph("flat")


def test_a_forgetting_run_has_its_tables_and_its_archives(forgetting_run: Path) -> None:
    run = results.load(forgetting_run)
    fates = run.forgetting.groupby(["arm", "fate"], observed=True).size()
    archived = run.graph("graph-store-forgetting").archive_nodes
    assert len(archived) == fates.loc["graph-store-forgetting", "forgotten"]
    assert set(run.frontier["policy"].cat.categories) >= {"importance", "random"}


def test_a_missing_table_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    run = results.load(small_run(tmp_path / "run"))
    with pytest.raises(BadInput, match=r"run has no table 'frontier'; it has metrics$"):
        _ = run.frontier
    assert not hasattr(run, "frontier"), "completion and hasattr may look for what is not there"


@pytest.mark.parametrize("status", ["running", "stopped"])
def test_an_unfinished_run_says_so_and_what_is_there(tmp_path: Path, status: str) -> None:
    folder = small_run(tmp_path / "run", status, reason="interrupted")
    with pytest.raises(BadInput, match=rf"the run is {status} \(interrupted\).*same command.*metrics"):
        results.load(folder)
    with pytest.warns(UserWarning, match="means are over the rows that are there"):
        assert len(results.load(folder, unfinished=True).metrics) == 3


def test_a_run_with_pending_rows_loads_with_a_warning(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="the run is incomplete"):
        run = results.load(small_run(tmp_path / "run", "incomplete"))
    with pytest.raises(
        BadInput, match=r"'answers' \(the run is incomplete: the same command goes on with it\)"
    ):
        _ = run.answers


def test_what_is_no_run_is_named(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"nowhere is no run folder: it has no run\.json"):
        results.load(tmp_path / "nowhere")
    for text in ('{"name": ', "[]", "\x00"):
        (tmp_path / "run.json").write_text(text)
        with pytest.raises(BadInput, match=r"run\.json: damaged"):
            results.load(tmp_path)


def test_a_damaged_table_is_named_with_its_remedy(tmp_path: Path) -> None:
    folder = small_run(tmp_path / "run")
    (folder / "metrics.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(BadInput, match=r"metrics\.parquet: damaged .* start the study again"):
        _ = results.load(folder).metrics


def test_a_run_of_an_older_version_loads_with_nulls_for_what_it_lacks(
    tmp_path: Path, representation_run: Path
) -> None:
    folder = small_run(tmp_path / "old")
    lacking = {
        "metrics": ("f1_improved", "judge_status", "abstention"),
        "calls": ("charged_usd", "flags"),
        "turns": (),
    }
    for name, columns in lacking.items():
        table = pq.read_table(representation_run / f"{name}.parquet").drop_columns(list(columns))
        said = {**table.schema.metadata, b"palimpsest.schema_version": b"0"}
        pq.write_table(table.replace_schema_metadata(said), folder / f"{name}.parquet")
    old, new = results.load(folder), results.load(representation_run)
    for name, columns in lacking.items():
        was, now = getattr(old, name), getattr(new, name)
        assert list(was.columns) == list(now.columns), "the same columns in the same order"
        assert was[list(columns)].isna().all(axis=None)
        assert (was.dtypes.astype(str) == now.dtypes.astype(str)).all()
        pd.testing.assert_frame_equal(was.drop(columns=list(columns)), now.drop(columns=list(columns)))


@pytest.mark.parametrize("version", ["2", "999", "x"])
def test_tables_of_a_later_version_say_to_upgrade(tmp_path: Path, version: str) -> None:
    folder = small_run(tmp_path / "run")
    table = from_rows([{"question": "q", "answer": "yes"}], ANSWERS)
    pq.write_table(
        table.replace_schema_metadata({"palimpsest.schema_version": version}), folder / "answers.parquet"
    )
    with pytest.raises(
        BadInput, match=rf"answers\.parquet has tables of version {version}.*upgrade palimpsest"
    ):
        _ = results.load(folder).answers


def test_columns_that_nobody_documented_come_last_as_they_are(tmp_path: Path) -> None:
    folder = small_run(tmp_path / "run")
    write(folder / "metrics.parquet", pa.table({"mine": [1.5], "question": ["q"], "context_tokens": [3]}))
    write(folder / "plugin.parquet", pa.table({"mine": ["x"]}))
    run = results.load(folder)
    assert run.metrics.columns[-1] == "mine"
    assert run.metrics.loc[0, ["question", "context_tokens", "mine"]].tolist() == ["q", 3, 1.5]
    assert run.plugin["mine"].tolist() == ["x"]


def test_a_column_of_another_type_is_named(tmp_path: Path) -> None:
    folder = small_run(tmp_path / "run")
    write(folder / "metrics.parquet", pa.table({"f1": ["high"]}))
    with pytest.raises(BadInput, match=r"metrics\.parquet: f1 cannot be read as double"):
        _ = results.load(folder).metrics


def test_other_verdicts_stand_before_the_runs_own(tmp_path: Path) -> None:
    folder = small_run(tmp_path / "run")
    write(folder / "answers.parquet", from_rows([{"question": "q1", "answer": "yes"}], ANSWERS))
    write(folder / "rejudged" / "ab12" / "metrics.parquet", from_rows(METRIC_ROWS[:1], METRICS))
    again = results.load(folder / "rejudged" / "ab12")
    assert (len(again.metrics), len(again.answers)) == (1, 1)
    assert len(results.load(folder).metrics) == 3


def test_a_folder_called_results_does_not_hide_the_package(tmp_path: Path) -> None:
    """Runs land in `results/` of the working folder, where people then start Python."""
    small_run(tmp_path / "results" / "runs" / "r")
    program = "import results; print(len(results.load('results/runs/r').metrics))"
    done = subprocess.run([sys.executable, "-c", program], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "3", done.stderr


def test_duckdb_joins_the_metrics_with_their_questions(
    representation_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(representation_run)
    found = duckdb.sql(
        """SELECT condition, q.type, avg(f1) AS f1, count(f1) AS n
            FROM 'metrics.parquet' JOIN 'questions.parquet' AS q
            USING (question) GROUP BY ALL"""
    ).df()
    metrics = results.load(representation_run).metrics
    expected = metrics.groupby(["condition", "type"], observed=True)["f1"].mean()
    means = found.set_index(["condition", "type"])["f1"]
    assert len(means) == len(expected) > 6
    assert np.allclose(means.loc[list(expected.index)], expected)


def test_duckdb_unnests_the_recalled_turns_to_their_texts(
    representation_run: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(representation_run)
    found = duckdb.sql(
        """SELECT question, condition, count(*) AS recalled, sum(length(t.text)) AS characters
            FROM (SELECT question, condition, unnest(turns) AS turn FROM 'recalls.parquet')
            JOIN 'turns.parquet' AS t USING (turn) GROUP BY ALL"""
    ).df()
    recalls = results.load(representation_run).recalls
    assert found["recalled"].sum() == recalls["turns"].map(len).sum() > 0


def test_duckdb_sums_the_ledger(representation_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(representation_run)
    found = duckdb.sql(
        "SELECT outcome, count(*) AS calls, sum(usd) AS usd FROM 'calls.parquet' GROUP BY ALL"
    ).df()
    calls = results.load(representation_run).calls
    assert found.set_index("outcome")["calls"].to_dict() == calls["outcome"].value_counts().to_dict()
    assert found["usd"].sum() == calls["usd"].sum() == 0
