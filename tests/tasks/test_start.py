"""When a run has come to its end."""

from __future__ import annotations

from pathlib import Path

from tasks.start import begin, find_complete, prepare
from tests.flows.study_in_loop import conditions, run_in_loop


def test_tables_that_an_earlier_attempt_left_are_not_taken_for_the_end(tmp_path: Path) -> None:
    first = run_in_loop(tmp_path, conditions=conditions("none"), resamples=100)
    folder, run = prepare(first.run.study, None, tmp_path / "store", first.folder)
    assert find_complete(folder, run)
    begin(folder, run)  # another attempt begins; it may be killed before it has written its tables
    assert not find_complete(folder, run)


def test_a_run_without_its_ledger_is_not_complete(tmp_path: Path) -> None:
    first = run_in_loop(tmp_path, conditions=conditions("none"), resamples=100)
    (first.folder / "calls.parquet").unlink()
    assert not find_complete(*prepare(first.run.study, None, tmp_path / "store", first.folder))


def test_an_end_without_some_tables_leaves_none_of_an_earlier_end(tmp_path: Path) -> None:
    first = run_in_loop(tmp_path, conditions=conditions("none"), resamples=100)
    (first.folder / "noninferiority.parquet").write_bytes(b"of a plan that made it")
    (first.folder / "graphs" / "graph").mkdir(parents=True)
    (first.folder / "graphs" / "graph" / "unbuilt.parquet").write_bytes(b"of memories that are built by now")
    run_in_loop(tmp_path, conditions=conditions("none"), resamples=100)
    assert not (first.folder / "noninferiority.parquet").exists()
    assert not (first.folder / "graphs" / "graph" / "unbuilt.parquet").exists()
    assert (first.folder / "metrics.parquet").exists()
