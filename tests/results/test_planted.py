"""What a repair made of planted faults, counted over conversations."""

from __future__ import annotations

import pandas as pd
import pytest

from memory.repair.harm import HARMS
from memory.repair.log import EditOutcome, Fate, Repair
from memory.repair.planting import TRUE, Fault, Offered, Planted, Recalled
from results.planted import planted_table
from results.statistics import wilson


def offered(harm: str, fate: Fate) -> Offered:
    return Offered(harm, "q1", EditOutcome("fact", "Ilse rows.", (), (), fate))


def conversation(repaired: bool) -> Planted:
    """One fault; of two harmful edits one gets in; one other question gains and one loses."""
    return Planted(
        candidates=3,
        faults=(Fault("q1", "h#0.0", 1, "repaired", repaired),),
        repairs=(Repair("q1", "h", False, "unchanged"), Repair("q2", "h", False, "no_plan")),
        offered=(
            offered(TRUE, "executed"),
            offered("absence", "skipped"),
            offered("wrong_value", "executed"),
        ),
        recalled={
            "q1": Recalled(1.0, 0.0, 0.0, 1.0),
            "q2": Recalled(0.5, 0.5, 0.5, 1.0),
            "q3": Recalled(0.5, 0.5, 0.5, 0.0),
            "q4": Recalled(0.5, 0.5, 0.5, 0.5),
        },
    )


def by_outcome(planted: list[Planted]) -> pd.DataFrame:
    table = planted_table(planted)
    names = [
        " ".join(part for part in named if isinstance(part, str))
        for named in zip(table["outcome"], table["harm"], strict=True)
    ]
    return table.set_index(pd.Index(names))


def test_conversations_are_added_up_with_wilson_intervals() -> None:
    table = by_outcome([conversation(repaired=True), conversation(repaired=False)])
    counts = dict(zip(table.index, zip(table["count"], table["n"], strict=True), strict=True))
    assert counts == {
        "repaired": (1, 2),
        "accepted": (2, 2),
        **{f"rejected {harm}": (0, 0) for harm in HARMS},
        "rejected wrong_value": (0, 2),
        "rejected absence": (2, 2),
        "edited": (0, 4),
        "gain": (2, 6),
        "loss": (2, 6),
        "noise": (0, 8),
    }
    expected = wilson(1, 2)
    assert table.loc["repaired", ["share", "low", "high"]].tolist() == [
        expected.share,
        expected.low,
        expected.high,
    ]


def test_where_nothing_was_offered_there_is_no_share() -> None:
    table = by_outcome([Planted(0, (), (), (), {})])
    assert table["n"].tolist() == [0] * len(table)
    assert table["share"].isna().all()


@pytest.mark.parametrize("again", [0.25, 0.75])
def test_a_recall_that_changes_without_an_edit_is_noise(again: float) -> None:
    shaken = Planted(0, (), (), (), {"q": Recalled(0.5, 0.5, again, 0.5)})
    assert by_outcome([shaken]).loc["noise", "count"] == 1
