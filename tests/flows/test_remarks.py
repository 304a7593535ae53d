from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from flows.remarks import print_remarks
from tasks.runs import read_run
from tests.flows.study_in_loop import conditions, run_in_loop


def test_what_was_flagged_is_printed_with_its_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = run_in_loop(tmp_path, conditions=conditions("none", "graph"), limit=3)
    recalls = run.table("recalls")
    recalls["flags"] = [
        ["no_roots", "context_cut"] if name == "graph" else [] for name in recalls["condition"]
    ]
    recalls.to_parquet(run.folder / "recalls.parquet")
    extractions = run.table("extractions")
    extractions["dropped"] = [[{"kind": "self_loop", "detail": "e1"}]] + [[]] * (len(extractions) - 1)
    extractions.to_parquet(run.folder / "extractions.parquet")
    calls = pd.read_parquet(run.folder / "calls.parquet")
    calls["flags"] = ["input_cut model_differs"] + [""] * (len(calls) - 1)
    calls.to_parquet(run.folder / "calls.parquet")
    capsys.readouterr()
    print_remarks(run.folder, read_run(run.folder))
    printed = capsys.readouterr().out
    assert "faults in extractions: 1 self_loop" in printed
    assert "recalls of graph: 3 no_roots, 3 context_cut" in printed
    assert "recalls of none" not in printed
    assert "calls: 1 input_cut, 1 model_differs" in printed
