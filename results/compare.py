"""A minus B, paired by question: the headline of every comparison (paper, appendix A.7).

Questions that share a conversation are resampled by conversation. Holm's family is the four metrics of one
comparison.
"""

from __future__ import annotations

import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import pandas as pd
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from results.question_rows import METRICS, QuestionRows, counted, name_some, read_question_rows
from results.rendering import interval, number, plain, probability, signed
from results.statistics import (
    RESAMPLES,
    SEED,
    McNemar,
    PairedDifference,
    holm,
    is_binary,
    mcnemar,
    paired_differences,
)

FEW_CONVERSATIONS = 30
"""Below this many, an interval over conversations is coarse and the reader is told so."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A minus B over the questions that both have a good row for.

    Attributes:
        a: Name of A.
        b: Name of B.
        n: Paired questions; a metric's own `n` is smaller where a figure is missing.
        unit: What is resampled: `question` or `conversation`.
        metrics: By metric.
        holm: By metric, p adjusted for the family of the four metrics.
        mcnemar: Exact test of the verdicts; none where a judge gives anything but 1 and 0.
        by_type: By question type, how many are paired and the metrics.
        notes: What was dropped, kept, not paired or looks wrong, one sentence each.
        resamples: Of the bootstrap.
        seed: Of the bootstrap.
    """

    a: str
    b: str
    n: int
    unit: str
    metrics: Mapping[str, PairedDifference]
    holm: Mapping[str, float]
    mcnemar: McNemar | None
    by_type: Mapping[str, tuple[int, Mapping[str, PairedDifference]]]
    notes: tuple[str, ...]
    resamples: int = field(default=RESAMPLES)
    seed: int = field(default=SEED)

    def to_json(self) -> dict[str, Any]:
        """The comparison as JSON values; what is not defined is null."""
        return {
            "n": self.n,
            "metrics": {
                name: {**_jsonable(asdict(found)), "p_holm": _number(self.holm[name])}
                for name, found in self.metrics.items()
            },
            "mcnemar": None if self.mcnemar is None else _jsonable(asdict(self.mcnemar)),
            "by_type": {
                kind: {"n": n, "metrics": {name: _jsonable(asdict(found)) for name, found in metrics.items()}}
                for kind, (n, metrics) in self.by_type.items()
            },
            "a": self.a,
            "b": self.b,
            "unit": self.unit,
            "resamples": self.resamples,
            "seed": self.seed,
            "notes": list(self.notes),
        }

    def to_text(self, width: int = 110) -> str:
        """The comparison as plain text of at most that many columns."""
        page = io.StringIO()
        Console(file=page, width=width, color_system=None).print(self)
        return "\n".join(line.rstrip() for line in page.getvalue().splitlines()) + "\n"

    def __rich__(self) -> Group:
        """The comparison as `rich` prints it: overall, by type, verdicts, notes."""
        parts: list[RenderableType] = [Text(f"A: {plain(self.a)}\nB: {plain(self.b)}"), self._overall()]
        if len(self.by_type) > 1:
            parts.append(self._types())
        parts.extend(Text(f"- {plain(line)}") for line in (*self._method(), *self.notes))
        return Group(*parts)

    def _overall(self) -> Table:
        table = Table(title=Text(f"A minus B, n = {self.n:,} paired questions"), title_justify="left")
        for column in ("metric", "n", "A", "B", "A - B", "95% interval", "p", "p (Holm)"):
            table.add_column(column, justify="left" if column == "metric" else "right")
        least = 2 / self.resamples
        for name, found in self.metrics.items():
            table.add_row(
                name,
                f"{found.n:,}",
                number(found.a),
                number(found.b),
                signed(found.difference),
                interval(found.low, found.high, sign=True),
                probability(found.p, least),
                probability(self.holm[name], least * len(self.metrics)),
            )
        return table

    def _types(self) -> Table:
        table = Table(
            title=Text("A - B by type (n); * the 95% interval excludes zero, unadjusted"),
            title_justify="left",
        )
        table.add_column("type")
        for name in self.metrics:
            table.add_column(name, justify="right")
        for kind, (_, metrics) in self.by_type.items():
            cells = [f"{signed(m.difference)}{'*' * m.significant} ({m.n:,})" for m in metrics.values()]
            table.add_row(Text(plain(kind)), *cells)
        return table

    def _method(self) -> list[str]:
        lines = [f"percentile bootstrap, {self.resamples:,} resamples of {self.unit}s, seed {self.seed}"]
        if self.mcnemar is not None:
            test = self.mcnemar
            lines.append(
                f"judge, McNemar's exact test: n {test.n:,}, only A right {test.only_a:,}, "
                f"only B right {test.only_b:,}, p {probability(test.p)}"
            )
        return lines


def compare(a: str, b: str, *, resamples: int = RESAMPLES, seed: int = SEED) -> Comparison:
    """Compare two sources of per-question rows, as `read_question_rows` takes them.

    Raises:
        BadInput: If a source cannot be read.
    """
    left, right = read_question_rows(a), read_question_rows(b)
    if left.name == right.name:
        left, right = replace(left, name=a), replace(right, name=b)
    return compare_rows(left, right, resamples=resamples, seed=seed)


def compare_rows(
    a: QuestionRows, b: QuestionRows, *, resamples: int = RESAMPLES, seed: int = SEED
) -> Comparison:
    """Compare two conditions. With no question in common, n is 0 and every figure is NaN."""
    pairs = paired(a.frame, b.frame)
    conversations = shared_conversations(pairs)
    metrics = metric_differences(pairs, resamples=resamples, seed=seed)
    verdicts = pairs["judge_a"].to_numpy(), pairs["judge_b"].to_numpy()
    return Comparison(
        a=a.name,
        b=b.name,
        n=len(pairs),
        unit="question" if conversations is None else "conversation",
        metrics=metrics,
        holm=dict(zip(metrics, holm([found.p for found in metrics.values()]), strict=True)),
        mcnemar=mcnemar(*verdicts) if all(map(is_binary, verdicts)) else None,
        by_type={
            str(kind): (len(rows), metric_differences(rows, resamples=resamples, seed=seed))
            for kind, rows in pairs.groupby("type", sort=True)
        },
        notes=(
            *(f"{rows.name}: {note}" for rows in (a, b) for note in rows.notes),
            *_pairing_notes(a, b, pairs),
            *_missing_notes(metrics, conversations),
        ),
        resamples=resamples,
        seed=seed,
    )


def paired(a: pd.DataFrame, b: pd.DataFrame) -> pd.DataFrame:
    """Rows of the questions in both: columns of A and B end in `_a` and `_b`, `history` and `type` do not.

    Raises:
        pandas.errors.MergeError: If a side has two rows for a question.
    """
    pairs = a.merge(b, on="question", suffixes=("_a", "_b"), validate="one_to_one")
    for column in ("history", "type"):
        pairs[column] = pairs[f"{column}_a"].fillna(pairs[f"{column}_b"])
    return pairs


def metric_differences(pairs: pd.DataFrame, *, resamples: int, seed: int) -> dict[str, PairedDifference]:
    """A minus B for each metric, over what `paired` gives."""
    a, b = ({metric: pairs[f"{metric}_{side}"].to_numpy() for metric in METRICS} for side in "ab")
    return paired_differences(a, b, shared_conversations(pairs), resamples=resamples, seed=seed)


def shared_conversations(rows: pd.DataFrame) -> list[str] | None:
    """The conversation of each question where any two questions share one, else none."""
    histories = rows["history"]
    known = histories.notna().all()
    return histories.tolist() if known and histories.duplicated().any() else None


def _pairing_notes(a: QuestionRows, b: QuestionRows, pairs: pd.DataFrame) -> list[str]:
    """Questions that could not be paired, and pairs that do not look like the same question."""
    notes = []
    for one, other in ((a, b), (b, a)):
        elsewhere = {*other.frame["question"], *other.failed}
        only = [question for question in one.frame["question"] if question not in elsewhere]
        if only:
            notes.append(
                f"{one.name}: {counted(len(only), 'question')} not in {other.name} ({name_some(only)})"
            )
    for what in ("reference", "type"):
        left, right = pairs[f"{what}_a"], pairs[f"{what}_b"]
        unequal = pairs["question"][left.notna() & right.notna() & (left != right)]
        if len(unequal):
            notes.append(f"the {what}s of {counted(len(unequal), 'pair')} differ ({name_some(unequal)})")
    if pairs.empty:
        notes.append("no question is in both: check that A and B are results on the same benchmark")
    return notes


def _missing_notes(metrics: Mapping[str, PairedDifference], clusters: Sequence[str] | None) -> list[str]:
    notes = [
        f"{name}: {counted(found.missing, 'pair')} left out, a side has no figure"
        for name, found in metrics.items()
        if found.missing
    ]
    if clusters is not None and len(set(clusters)) < FEW_CONVERSATIONS:
        notes.append(
            f"intervals resample only {counted(len(set(clusters)), 'conversation')}: they are coarse"
        )
    return notes


def _jsonable(record: Mapping[str, Any]) -> dict[str, Any]:
    return {name: _number(value) for name, value in record.items()}


def _number(value: float) -> float | None:
    return None if math.isnan(value) else value
