"""The hybrid memory in a whole study, offline."""

from __future__ import annotations

from pathlib import Path

from tests.flows.study_in_loop import conditions, run_in_loop

ARMS = ("palimpsest:published", "palimpsest:with_graph", "palimpsest:no_dense", "palimpsest:half")
QUESTIONS = 5


def test_every_arm_recalls_half_forgets_before_it_is_asked_and_a_second_run_makes_nothing(
    tmp_path: Path,
) -> None:
    arms = conditions(*ARMS, "none")
    made = run_in_loop(tmp_path, conditions=arms, limit=QUESTIONS)
    assert made.run.status == "complete"
    recalls = made.table("recalls")
    own = recalls[recalls["condition"].str.startswith("palimpsest")]
    assert set(own["status"]) == {"ok"}
    nbytes = own.pivot(index="question", columns="condition", values="memory_bytes")
    assert (nbytes["palimpsest-half"] <= 0.5 * nbytes["palimpsest"]).all()
    found = made.table("metrics").groupby("condition")["turn_recall_5"].mean()
    assert found.drop("none").min() > found["none"]
    assert run_in_loop(tmp_path, conditions=arms, limit=QUESTIONS).made_stages == []
