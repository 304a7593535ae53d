"""What each switch of the graph memory is worth: tables from the rows of every arm, paired by question.

An arm is a profile (its base) with one field moved. `switch_rows` has a row a question and arm; the base itself has an
empty field. Figures that are missing are left out and counted, as everywhere.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import pandas as pd
import pyarrow as pa

from results.statistics import (
    RESAMPLES,
    SEED,
    Estimate,
    PairedDifference,
    estimates,
    holm,
    paired_differences,
)

Fields: TypeAlias = list[tuple[str, pa.DataType]]

_SWITCH_ROW: Fields = [
    ("question", pa.string()),
    ("base", pa.string()),  # published | improved
    ("field", pa.string()),  # empty for the profile itself
    ("value", pa.string()),  # JSON
    ("status", pa.string()),  # ok | failed
    ("reason", pa.string()),
    ("turn_recall_5", pa.float64()),
    ("turn_mrr", pa.float64()),
    ("turn_ndcg_10", pa.float64()),
    ("context_tokens", pa.int64()),
    ("answer_in_context", pa.float64()),
    ("floor_acts", pa.float64()),
    ("nodes", pa.int32()),
    ("edges", pa.int32()),
    ("paths", pa.int32()),
    ("hub_paths", pa.int32()),
    ("hub_share", pa.float64()),
]
SWITCH_ROWS = pa.schema(_SWITCH_ROW)
_BUDGET_ROW: Fields = [
    ("question", pa.string()),
    ("system", pa.string()),  # flat | graph
    ("profile", pa.string()),
    ("unit", pa.string()),  # hits | tokens
    ("budget", pa.int32()),
    ("status", pa.string()),  # ok | failed
    ("reason", pa.string()),
    ("evidence_recall", pa.float64()),
    ("answer_in_context", pa.float64()),
    ("context_tokens", pa.int64()),
]
BUDGET_ROWS = pa.schema(_BUDGET_ROW)
FIGURES = ("turn_recall_5", "turn_mrr", "turn_ndcg_10", "answer_in_context", "context_tokens")
SWEPT = (*FIGURES, "floor_acts", "hub_share", "nodes")
OF_BUDGETS = ("evidence_recall", "answer_in_context", "context_tokens")
RULE_TYPES = ("knowledge-update", "temporal-reasoning")
"""Types for which it should matter which of two values stands; all questions together come beside them."""
ALL = "all"
ITSELF = ("", "null")
"""Field and value of a row of the profile itself."""


@dataclass(frozen=True)
class Switched:
    """An arm, as the tables name it.

    Attributes:
        base: The profile.
        field: The field that is moved.
        value: Where to, as JSON.
        own: What the profile has there, as JSON.
        uses: Which tables show it: `switch`, `rule`, `sweep`.
    """

    base: str
    field: str
    value: str
    own: str
    uses: frozenset[str]


@dataclass(frozen=True)
class Sampling:
    """How intervals are drawn: of conversations, named by question, where questions share one."""

    clusters: Mapping[str, str] | None = None
    resamples: int = RESAMPLES
    seed: int = SEED

    def differences(self, a: pd.DataFrame, b: pd.DataFrame) -> dict[str, PairedDifference]:
        """A minus B for each column, over the questions that index both frames."""
        return paired_differences(
            _columns(a), _columns(b), self._units(a), resamples=self.resamples, seed=self.seed
        )

    def means(self, frame: pd.DataFrame) -> dict[str, Estimate]:
        """Mean and interval of each column."""
        return estimates(_columns(frame), self._units(frame), resamples=self.resamples, seed=self.seed)

    def _units(self, frame: pd.DataFrame) -> list[str] | None:
        return None if self.clusters is None else [self.clusters[str(name)] for name in frame.index]


def _columns(frame: pd.DataFrame) -> dict[str, Any]:
    return {str(name): frame[name].to_numpy(float) for name in frame.columns}


def switch_table(rows: pd.DataFrame, arms: Sequence[Switched], sampling: Sampling) -> pd.DataFrame:
    """A row a switch and figure: the arm minus its profile, paired by question, with Holm's p by figure."""
    return _adjusted(
        _against_own(rows, [arm for arm in arms if "switch" in arm.uses], sampling), sampling.resamples
    )


def rule_table(
    rows: pd.DataFrame, types: pd.Series, arms: Sequence[Switched], sampling: Sampling
) -> pd.DataFrame:
    """A row a type, profile, merge rule and figure: the rule minus the profile's own, with Holm's p by figure.

    Args:
        rows: One row a question and arm.
        types: By question, its type.
        arms: The arms.
        sampling: Of the intervals.
    """
    rules = [arm for arm in arms if "rule" in arm.uses]
    of_type = rows["question"].map(types)
    parts = {kind: rows if kind == ALL else rows[of_type == kind] for kind in (*RULE_TYPES, ALL)}
    tables = [
        _against_own(part, rules, sampling).assign(type=kind) for kind, part in parts.items() if len(part)
    ]
    return _adjusted(pd.concat(tables, ignore_index=True), sampling.resamples)


def sweep_table(rows: pd.DataFrame, arms: Sequence[Switched], sampling: Sampling) -> pd.DataFrame:
    """A row a profile, field, value and figure: mean and interval. `value` is null for no cap, `own` the profile's."""
    lines: list[dict[str, Any]] = []
    for base, here in _by_base(rows, SWEPT).items():
        found = sampling.means(_side_by_side(here))
        for field, points in _points(
            [arm for arm in arms if arm.base == base and "sweep" in arm.uses]
        ).items():
            for value, (key, own) in points.items():
                named = {"base": base, "field": field, "value": _number(value), "own": own}
                lines += [{**named, "figure": f, **asdict(found[_name(key, f)])} for f in SWEPT]
    return pd.DataFrame(lines)


def budget_table(rows: pd.DataFrame, sampling: Sampling) -> pd.DataFrame:
    """A row a profile, budget and figure: the graph minus flat retrieval, with Holm's p by figure."""
    lines: list[dict[str, Any]] = []
    for key, here in rows.groupby(["profile", "unit", "budget"], sort=False):
        sides = {
            system: part.set_index("question")[list(OF_BUDGETS)] for system, part in here.groupby("system")
        }
        found = sampling.differences(sides["graph"], sides["flat"].reindex(sides["graph"].index))
        named = dict(zip(("profile", "unit", "budget"), key, strict=True))
        lines += [{**named, "figure": figure, **asdict(each)} for figure, each in found.items()]
    return _adjusted(pd.DataFrame(lines).rename(columns={"a": "graph", "b": "flat"}), sampling.resamples)


def _against_own(rows: pd.DataFrame, arms: Sequence[Switched], sampling: Sampling) -> pd.DataFrame:
    """A row an arm and figure: the arm minus the profile itself. All arms of a profile share their resamples."""
    lines: list[dict[str, Any]] = []
    for base, here in _by_base(rows, FIGURES).items():
        mine = [arm for arm in arms if arm.base == base]
        keys = [(arm.field, arm.value) for arm in mine]
        moved = _side_by_side({key: here[key] for key in keys})
        still = _side_by_side(dict.fromkeys(keys, here[ITSELF]))
        found = sampling.differences(moved, still)
        for arm, key in zip(mine, keys, strict=True):
            named = {"base": base, "field": arm.field, "own": arm.own, "value": arm.value}
            lines += [{**named, "figure": f, **asdict(found[_name(key, f)])} for f in FIGURES]
    return pd.DataFrame(lines).rename(columns={"a": "moved", "b": "unmoved"})


def _by_base(rows: pd.DataFrame, figures: Sequence[str]) -> dict[str, dict[tuple[str, str], pd.DataFrame]]:
    """The figures by profile, and by field and value; each frame is indexed by the same questions."""
    held: dict[str, dict[tuple[str, str], pd.DataFrame]] = {}
    questions = pd.Index(rows["question"].unique())
    for (base, field, value), part in rows.groupby(["base", "field", "value"], sort=False):
        frame = part.set_index("question")[list(figures)].astype(float).reindex(questions)
        held.setdefault(str(base), {})[str(field), str(value)] = frame
    return held


def _side_by_side(frames: Mapping[tuple[str, str], pd.DataFrame]) -> pd.DataFrame:
    """One column a key and figure."""
    columns = {
        _name(key, str(figure)): frame[figure] for key, frame in frames.items() for figure in frame.columns
    }
    return pd.DataFrame(columns)


def _name(key: tuple[str, str], figure: str) -> str:
    return json.dumps([*key, figure])


def _points(arms: Sequence[Switched]) -> dict[str, dict[str, tuple[tuple[str, str], bool]]]:
    """By field and value, in order: the rows to take, and whether they are the profile's own; no cap comes last."""
    points: dict[str, dict[str, tuple[tuple[str, str], bool]]] = {}
    for arm in arms:
        of_field = points.setdefault(arm.field, {})
        of_field[arm.value] = ((arm.field, arm.value), False)
        if arm.own:
            of_field[arm.own] = (ITSELF, True)
    return {
        field: dict(sorted(values.items(), key=lambda item: _order(item[0])))
        for field, values in points.items()
    }


def _order(value: str) -> float:
    number = _number(value)
    return math.inf if number is None else number


def _number(value: str) -> float | None:
    read = json.loads(value)
    return None if read is None else float(read)


def _adjusted(table: pd.DataFrame, resamples: int) -> pd.DataFrame:
    """With p after Holm over the rows of each figure; a p of zero counts as the smallest that can be known."""
    known = table["p"].clip(lower=2 / resamples)
    return table.assign(p_holm=known.groupby(table["figure"]).transform(lambda p: holm(p.tolist())))
