"""What a repair has done, question by question, and as the table `repairs`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import pyarrow as pa

Fate = Literal["executed", "refused", "skipped"]
State = Literal["sufficient", "no_probes", "no_plan", "unchanged", "repaired", "failed"]


@dataclass(frozen=True, slots=True)
class EditOutcome:
    """What became of an edit.

    Attributes:
        kind: `fact` or `concept`.
        text: The fact, or the concept's label.
        ids: The items that it stands on or is joined to; ids that were not shown are left out.
        concepts: The labels that a fact names.
        fate: `refused` by the verification; `skipped` when it was to be executed; or `executed`.
        reason: Why it was not executed; none if it was.
        item: Id of what was added or joined.
    """

    kind: str
    text: str
    ids: tuple[str, ...]
    concepts: tuple[str, ...]
    fate: Fate
    reason: str | None = None
    item: str | None = None


@dataclass(frozen=True, slots=True)
class Repair:
    """What a repair has done for a question.

    Attributes:
        question: Its id.
        history: Its history's id.
        gold: Whether repair saw the reference answer.
        state: Where it ended: `sufficient` needed none; without probe questions or a plan nothing was tried; then
            the memory was changed (`repaired`) or not; `failed` gave no answer to start from.
        reward_before: The reward that the caller has measured, if any.
        completeness: As diagnosed, 0 to 1; none where it was not asked for.
        probes: The probe questions that were followed.
        edits: What became of each edit of the plan.
        written: How many edits the plan had before it was cut.
        unusable: Steps whose replies stayed unusable, such as `plan`; they count as empty.
        reason: Why it failed.
    """

    question: str
    history: str
    gold: bool
    state: State
    reward_before: float | None = None
    completeness: float | None = None
    probes: tuple[str, ...] = ()
    edits: tuple[EditOutcome, ...] = ()
    written: int = 0
    unusable: tuple[str, ...] = ()
    reason: str | None = None

    @property
    def planned(self) -> int:
        """Edits of the plan that were taken."""
        return len(self.edits)

    @property
    def passed(self) -> int:
        """Edits that passed the verification."""
        return sum(edit.fate != "refused" for edit in self.edits)

    @property
    def executed(self) -> int:
        """Edits that changed the memory."""
        return sum(edit.fate == "executed" for edit in self.edits)

    @property
    def skipped(self) -> int:
        """Edits that passed and were not executed: over a cap, unsound or duplicate."""
        return self.passed - self.executed


_TEXTS: pa.DataType = pa.list_(pa.string())
_EDIT = pa.struct(
    [
        pa.field("kind", pa.string()),
        pa.field("text", pa.string()),
        pa.field("ids", _TEXTS),
        pa.field("concepts", _TEXTS),
        pa.field("fate", pa.string()),
        pa.field("reason", pa.string()),
        pa.field("item", pa.string()),
    ]
)
_FIELDS: list[pa.Field[Any]] = [
    pa.field("question", pa.string()),
    pa.field("history", pa.string()),
    pa.field("gold", pa.bool_()),
    pa.field("state", pa.string()),
    pa.field("reward_before", pa.float64()),
    pa.field("completeness", pa.float64()),
    pa.field("probes", _TEXTS),
    pa.field("written", pa.int64()),
    pa.field("planned", pa.int64()),
    pa.field("passed", pa.int64()),
    pa.field("executed", pa.int64()),
    pa.field("skipped", pa.int64()),
    pa.field("edits", pa.list_(_EDIT)),
    pa.field("unusable", _TEXTS),
    pa.field("reason", pa.string()),
]
REPAIRS = pa.schema(_FIELDS)


def repairs_table(repairs: Sequence[Repair]) -> pa.Table:
    """One row a question, in the order in which they were repaired."""
    counts = ("planned", "passed", "executed", "skipped")
    rows = [asdict(repair) | {name: getattr(repair, name) for name in counts} for repair in repairs]
    return pa.Table.from_pylist(rows, schema=REPAIRS)
