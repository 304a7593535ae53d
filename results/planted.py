"""What a repair made of planted faults, counted over conversations, with Wilson intervals."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import pandas as pd

from memory.repair.harm import HARMS
from memory.repair.planting import TRUE, Planted
from results.statistics import LEVEL, wilson


def planted_table(planted: Sequence[Planted], *, level: float = LEVEL) -> pd.DataFrame:
    """A row a figure: outcome, harm (null where the figure is not of one), count, n, share, low, high.

    The outcomes:
        repaired: Planted faults that the repair mended.
        accepted: Facts that had been taken out, and got in again when they were offered alone.
        rejected: Of edits with each harm, made of facts that were accepted, those that did not get in.
        edited: Questions whose repair changed the memory.
        gain: Questions without a planted fault whose recall of evidence rose.
        loss: The same, whose recall fell.
        noise: Questions whose recall changed when nothing was edited.

    Intervals take every figure as independent: those of one conversation are not, and theirs are too narrow.
    """
    rows = []
    for outcome, harm, happened in _outcomes(planted):
        share = wilson(sum(happened), len(happened), level)
        rows.append(
            {
                "outcome": outcome,
                "harm": harm,
                "count": share.successes,
                "n": share.n,
                "share": share.share,
                "low": share.low,
                "high": share.high,
            }
        )
    return pd.DataFrame(rows)


def _outcomes(planted: Sequence[Planted]) -> Iterator[tuple[str, str | None, list[bool]]]:
    yield "repaired", None, [fault.repaired for each in planted for fault in each.faults]
    offered = [edit for each in planted for edit in each.offered]
    yield "accepted", None, [edit.outcome.fate == "executed" for edit in offered if edit.harm == TRUE]
    for harm in HARMS:
        yield "rejected", harm, [edit.outcome.fate != "executed" for edit in offered if edit.harm == harm]
    yield "edited", None, [repair.executed > 0 for each in planted for repair in each.repairs]
    elsewhere = [
        recalled
        for each in planted
        for question, recalled in each.recalled.items()
        if question not in {fault.question for fault in each.faults}
    ]
    yield "gain", None, [recalled.after > recalled.damaged for recalled in elsewhere]
    yield "loss", None, [recalled.after < recalled.damaged for recalled in elsewhere]
    yield (
        "noise",
        None,
        [recalled.again != recalled.damaged for each in planted for recalled in each.recalled.values()],
    )
