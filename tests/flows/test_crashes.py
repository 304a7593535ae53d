"""A study that is killed at any moment ends like one that nobody has touched; `make torture` is the long version."""

from __future__ import annotations

from pathlib import Path

from tests.torture.crash import torture


def test_a_study_that_is_killed_again_and_again_ends_like_an_undisturbed_one(tmp_path: Path) -> None:
    outcome = torture(tmp_path, kills=5, seed=3, questions=8)
    assert outcome.faults(5) == []
    assert {kill.moment for kill in outcome.kills} == {"start", "reply", "file"}
