"""A work is made once, whoever makes it, and whatever else makes it at the same time."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from results.errors import TornTable
from tasks.stage import Artefact, Made, Stage, Work, existing, perform


def work_in(folder: Path, *, retry_failed: bool = False) -> Work:
    return Work(
        run=str(folder), store="", stage="s", batch="b", version=1, params={}, retry_failed=retry_failed
    )


def made(latency: float, **counts: int) -> Made:
    return Made({"t": pa.table({"x": [1, 2], "latency_ms": [latency, latency]})}, counts)


def test_two_makers_of_one_work_do_not_tear_each_others_artefact(tmp_path: Path) -> None:
    """The second maker is through in the middle of the first; only latencies differ."""
    work = work_in(tmp_path)
    others: list[Artefact] = []

    def slow(work: Work) -> Made:
        others.append(perform(Stage("s", 1, lambda _: made(2.0)), work))
        return made(1.0)

    own = perform(Stage("s", 1, slow), work)
    assert own.content == others[0].content
    assert own.files["t"].sha256 != others[0].files["t"].sha256
    for artefact in (own, others[0]):
        assert artefact.read(tmp_path, "t")["x"].to_pylist() == [1, 2]
    assert existing(work) == own


@pytest.mark.parametrize("kept", ["no manifest", "half a manifest", "a manifest without its file"])
def test_what_a_kill_leaves_behind_is_made_again(kept: str, tmp_path: Path) -> None:
    work = work_in(tmp_path)
    first = perform(Stage("s", 1, lambda _: made(1.0)), work)
    if kept == "no manifest":
        work.manifest.unlink()
    elif kept == "half a manifest":
        os.truncate(work.manifest, work.manifest.stat().st_size // 2)
    else:
        (tmp_path / first.files["t"].path).unlink()
    assert existing(work) is None
    again = perform(Stage("s", 1, lambda _: made(1.0)), work)
    assert again == existing(work) == first


def test_a_file_that_changes_after_it_was_checked_is_named_and_not_read(tmp_path: Path) -> None:
    artefact = perform(Stage("s", 1, lambda _: made(1.0)), work_in(tmp_path))
    path = tmp_path / artefact.files["t"].path
    path.write_bytes(bytes(path.stat().st_size))
    with pytest.raises(TornTable, match=path.name):
        artefact.read(tmp_path, "t")


@pytest.mark.parametrize("status", ["failed", "unparsed"])
def test_replies_that_stayed_unusable_are_asked_again_only_on_demand(status: str, tmp_path: Path) -> None:
    perform(Stage("s", 1, lambda _: made(1.0, ok=1, **{status: 1})), work_in(tmp_path))
    assert existing(work_in(tmp_path)) is not None
    assert existing(work_in(tmp_path, retry_failed=True)) is None


def test_pending_rows_are_always_tried_again(tmp_path: Path) -> None:
    perform(Stage("s", 1, lambda _: made(1.0, failed=1, pending=1)), work_in(tmp_path))
    assert existing(work_in(tmp_path)) is None
