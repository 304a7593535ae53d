"""When a stage as a whole has failed, and when it has only not been finished."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from memory.errors import CallFailed
from tasks.stage import ASKED_AGAIN, Artefact

_FEWEST = 10  # failed rows from which on a share says something
_EXAMPLES = 3
_ASKING = ("extract", "entities", "recall", "answer", "judge")
"""The stages whose rows stand for replies; rows of the others follow from theirs."""


class StageFailed(Exception):
    """Some works of a stage could not be carried out; what the others made is kept."""

    def __init__(self, stage: str, errors: Sequence[BaseException]) -> None:
        reasons = list(dict.fromkeys(f"{error}" or type(error).__name__ for error in errors))
        more = f" (and {len(reasons) - 1} other reasons)" if len(reasons) > 1 else ""
        super().__init__(f"stage {stage}: {reasons[0]}{more}")
        self.stage = stage
        self.errors = tuple(errors)


class TooManyFailed(Exception):
    """More rows of a stage failed, for good, than the study puts up with."""


def only_unfinished(error: StageFailed | CallFailed) -> bool:
    """Whether the same command, or one with more budget, can finish what has ended so."""
    errors = error.errors if isinstance(error, StageFailed) else (error,)
    return all(isinstance(each, CallFailed) and not each.final for each in errors)


def check_share(folder: Path, stage: str, artefacts: Sequence[Artefact], most: float) -> None:
    """Pass if few rows of a stage have failed; those that the next run tries again do not count.

    Raises:
        TooManyFailed: If more than the share `most` did, with the most frequent reasons.
    """
    totals = Counter[str]()
    for artefact in artefacts if stage in _ASKING else ():
        totals.update(artefact.counts)
    asked = totals["ok"] + totals["empty"] + totals["judged"]
    failed = sum(totals[status] for status in ASKED_AGAIN) - totals["pending"]
    if failed < _FEWEST or failed <= most * (asked + failed):
        return
    examples = "; ".join(
        f"{reason} ({n})" for reason, n in _reasons(folder, artefacts).most_common(_EXAMPLES)
    )
    raise TooManyFailed(
        f"stage {stage}: {failed:,} of {asked + failed:,} rows failed, such as: {examples}; --retry-failed asks "
        "again, --max-failed 1 goes on without them"
    )


def _reasons(folder: Path, artefacts: Sequence[Artefact]) -> Counter[str]:
    reasons = Counter[str]()
    for artefact in artefacts:
        for name in artefact.files:
            table = artefact.read(folder, name)
            if {"status", "reason"} <= set(table.column_names):
                failed = table.filter(pc.is_in(table["status"], value_set=pa.array(ASKED_AGAIN)))
                reasons.update(str(reason) for reason in failed["reason"].to_pylist())
    return reasons
