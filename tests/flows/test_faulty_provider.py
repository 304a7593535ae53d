"""A provider of whose answers three in ten are faults costs rows for a while, and nothing for good."""

from __future__ import annotations

from pathlib import Path

from tests.torture.faults import all_faults
from tests.torture.lies import lie_to_a_study


def test_a_study_that_is_lied_to_ends_and_adds_up_and_a_sound_provider_fills_every_hole(
    tmp_path: Path,
) -> None:
    outcome = lie_to_a_study(tmp_path, seed=1, questions=16)
    assert outcome.faults(16) == []
    assert outcome.failed(final=False) > 0
    assert outcome.failed(final=True) > 0
    met = {given.fault.name for given in outcome.given if given.fault is not None}
    assert len(met) > len(all_faults(0)) / 2
