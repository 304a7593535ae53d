"""Tables 1, 5, 6 and 7 of the Selective Forgetting paper, from the `metrics` of any conditions.

Each comes as numbers (for Parquet) and as text (Markdown, LaTeX). No mean stands without the number of
questions that it is over. As in the paper, the types hold their abstention questions, which also have a row
of their own; the task average is the mean of the types' means.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pandas as pd
import pyarrow as pa

from results import rendering
from results.compare import metric_differences, paired, shared_conversations
from results.question_rows import METRICS
from results.rendering import interval, number, signed
from results.statistics import RESAMPLES, SEED, estimates, holm, is_binary, wilson

TYPE_ORDER = (
    "single-session-user",
    "single-session-assistant",
    "single-session-preference",
    "knowledge-update",
    "multi-session",
    "temporal-reasoning",
)
"""The paper's order; the types of other benchmarks follow in alphabetical order."""

_COUNTS = ("questions", "answered", "judged", "missing")
_TITLES = {"precision": "P", "f1": "F1", "recall": "R", "judge": "J"}


@dataclass(frozen=True, slots=True)
class PaperTable:
    """A table as numbers and as text.

    Attributes:
        name: `table_1`, ...; safe as a file's name and a LaTeX label.
        caption: What it shows and how it was computed.
        data: The numbers; NaN where there is none.
        header: Titles of the text columns.
        rows: The text, row by row.
    """

    name: str
    caption: str
    data: pd.DataFrame
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def arrow(self) -> pa.Table:
        """The numbers, with null where there is none."""
        return pa.Table.from_pandas(self.data, preserve_index=False).replace_schema_metadata(None)

    def markdown(self) -> str:
        """The text under its caption, escaped."""
        return rendering.markdown(self.header, self.rows, self.caption)

    def latex(self) -> str:
        """The text as a booktabs table, escaped."""
        return rendering.latex(self.header, self.rows, self.caption, f"tab:{self.name}")


def paper_tables(
    metrics: pd.DataFrame,
    pairs: Sequence[tuple[str, str]],
    *,
    extra: Sequence[str] = (),
    resamples: int = RESAMPLES,
    seed: int = SEED,
) -> list[PaperTable]:
    """All four tables.

    Args:
        metrics: One row a question and condition, with the columns of the `metrics` table.
        pairs: The comparisons of Table 7, as conditions A and B; each is A minus B.
        extra: Further columns of `metrics` for Table 1, such as `turn_recall_5`; null where undefined.
        resamples: Of every bootstrap.
        seed: Of every bootstrap.

    Raises:
        ValueError: If a condition has two rows for a question, or a pair names a condition that is not there.
    """
    return [
        table_1(metrics, extra),
        table_5(metrics, resamples=resamples, seed=seed),
        table_6(metrics, resamples=resamples, seed=seed),
        table_7(metrics, pairs, resamples=resamples, seed=seed),
    ]


def table_1(metrics: pd.DataFrame, extra: Sequence[str] = ()) -> PaperTable:
    """Means by type, overall, task-averaged and of the abstention questions, for each condition.

    `data` has a row a group and condition; `group` is `type`, `overall`, `task-averaged` or `abstention`. A
    column of `extra` has its own `<column>_n`.
    """
    conditions = _by_condition(metrics)
    types = [
        _line("type", kind, condition, asked, extra)
        for kind in _types(metrics)
        for condition, rows in conditions.items()
        if len(asked := rows[rows["type"] == kind])
    ]
    overall = [_line("overall", None, condition, rows, extra) for condition, rows in conditions.items()]
    averaged = [_task_average(line, types, extra) for line in overall]
    abstention = [
        _line("abstention", None, condition, asked, extra)
        for condition, rows in conditions.items()
        if len(asked := rows[rows["abstention"].astype("boolean").fillna(False)])
    ]
    data = pd.DataFrame([*types, *overall, *averaged, *abstention])
    shown = ("precision", "f1", "judge")
    return PaperTable(
        name="table_1",
        caption="Mean precision, F1 and judged correctness. P and F1 are over answered, J over judged "
        "questions; missing questions lack a score or a verdict; a further column has its own n in brackets.",
        data=data,
        header=("Questions", "Condition", *_COUNTS, *(_TITLES[metric] for metric in shown), *extra),
        rows=tuple(
            (
                line["type"] or line["group"].capitalize(),
                line["condition"],
                *(f"{line[count]:,}" for count in _COUNTS),
                *(number(line[metric]) for metric in shown),
                *(f"{number(line[column])} ({line[f'{column}_n']:,})" for column in extra),
            )
            for line in (*types, *overall, *averaged, *abstention)
        ),
    )


def table_5(metrics: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = SEED) -> PaperTable:
    """Mean and standard error of each condition."""
    return _condition_table(
        metrics,
        name="table_5",
        caption="Mean ± SEM (one sigma). P, F1 and R are over answered, J over judged questions.",
        cell=lambda line: f"{number(line['mean'])} ± {number(line['sem'])}",
        resamples=resamples,
        seed=seed,
    )


def table_6(metrics: pd.DataFrame, *, resamples: int = RESAMPLES, seed: int = SEED) -> PaperTable:
    """Bootstrap interval of each condition, and Wilson's of its judged correctness."""

    def cell(line: Mapping[str, Any]) -> str:
        shown = interval(line["low"], line["high"])
        if line["metric"] != "judge":
            return shown
        return f"{shown}; Wilson {interval(line['wilson_low'], line['wilson_high'])}"

    return _condition_table(
        metrics,
        name="table_6",
        caption=f"95% percentile bootstrap intervals, {resamples:,} resamples of questions, or of "
        "conversations where questions share one. Wilson's interval takes each question as its own unit. "
        "P, F1 and R are over answered, J over judged questions.",
        cell=cell,
        resamples=resamples,
        seed=seed,
    )


def table_7(
    metrics: pd.DataFrame, pairs: Sequence[tuple[str, str]], *, resamples: int = RESAMPLES, seed: int = SEED
) -> PaperTable:
    """Paired differences, A minus B; Holm's family is every difference in the table."""
    conditions = _by_condition(metrics)
    unknown = {name for pair in pairs for name in pair} - set(conditions)
    if unknown:
        raise ValueError(f"no condition {', '.join(sorted(unknown))} among {', '.join(conditions)}")
    lines: list[dict[str, Any]] = []
    for a, b in pairs:
        joined = paired(conditions[a], conditions[b])
        for metric, found in metric_differences(joined, resamples=resamples, seed=seed).items():
            lines.append({"condition_a": a, "condition_b": b, "metric": metric, **asdict(found)})
    for line, adjusted in zip(lines, holm([line["p"] for line in lines]), strict=True):
        line["p_holm"] = adjusted
        line["significant"] = line["low"] > 0 or line["high"] < 0
    shown = ("f1", "precision", "recall", "judge")
    found_by = {(line["condition_a"], line["condition_b"], line["metric"]): line for line in lines}
    return PaperTable(
        name="table_7",
        caption=f"Paired difference and its 95% percentile bootstrap interval, {resamples:,} resamples of "
        "questions, or of conversations where questions share one; the number of pairs in brackets. "
        "* the interval excludes zero; ** and p stays below 0.05 after Holm's adjustment over the table.",
        data=pd.DataFrame(lines),
        header=("Comparison", *(_TITLES[metric] for metric in shown)),
        rows=tuple(
            (f"{a} vs {b}", *(_difference_cell(found_by[a, b, metric]) for metric in shown)) for a, b in pairs
        ),
    )


def _difference_cell(line: Mapping[str, Any]) -> str:
    star = ("**" if line["p_holm"] < 0.05 else "*") if line["significant"] else ""
    bounds = interval(line["low"], line["high"], sign=True)
    return f"{signed(line['difference'])}{star} {bounds} ({line['n']:,})"


def _condition_table(
    metrics: pd.DataFrame,
    *,
    name: str,
    caption: str,
    cell: Callable[[Mapping[str, Any]], str],
    resamples: int,
    seed: int,
) -> PaperTable:
    """A table with a row a condition; its data has a row a condition and metric."""
    shown = ("precision", "f1", "recall", "judge")
    lines: list[dict[str, Any]] = []
    text: list[tuple[str, ...]] = []
    for condition, rows in _by_condition(metrics).items():
        own = _estimate_lines(condition, rows, resamples, seed)
        counts = _line("overall", None, condition, rows)
        lines += own.values()
        text.append(
            (
                condition,
                *(f"{counts[count]:,}" for count in _COUNTS),
                *(cell(own[metric]) for metric in shown),
            )
        )
    return PaperTable(
        name=name,
        caption=caption,
        data=pd.DataFrame(lines),
        header=("Condition", *_COUNTS, *(_TITLES[metric] for metric in shown)),
        rows=tuple(text),
    )


def _estimate_lines(
    condition: str, rows: pd.DataFrame, resamples: int, seed: int
) -> dict[str, dict[str, Any]]:
    """By metric, the estimate of one condition; Wilson's interval for verdicts of 1 and 0 alone."""
    columns = {metric: rows[metric].to_numpy(dtype=float) for metric in METRICS}
    found = estimates(columns, shared_conversations(rows), resamples=resamples, seed=seed)
    lines: dict[str, dict[str, Any]] = {
        metric: {
            "condition": condition,
            "metric": metric,
            **asdict(estimate),
            "wilson_low": math.nan,
            "wilson_high": math.nan,
        }
        for metric, estimate in found.items()
    }
    if is_binary(columns["judge"]):
        share = wilson(int((columns["judge"] == 1).sum()), found["judge"].n)
        lines["judge"] |= {"wilson_low": share.low, "wilson_high": share.high}
    return lines


def _by_condition(metrics: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The rows of each condition, in the order of their first rows."""
    twice = metrics[metrics.duplicated(["question", "condition"])]
    if len(twice):
        first = twice.iloc[0]
        raise ValueError(f"condition {first['condition']} has two rows for question {first['question']}")
    return {str(name): rows for name, rows in metrics.groupby("condition", sort=False)}


def _types(metrics: pd.DataFrame) -> list[str]:
    """The question types there are, in the paper's order, then alphabetically."""
    there = set(metrics["type"].dropna())
    return [*(kind for kind in TYPE_ORDER if kind in there), *sorted(there.difference(TYPE_ORDER))]


def _line(
    group: str, kind: str | None, condition: str, rows: pd.DataFrame, extra: Sequence[str] = ()
) -> dict[str, Any]:
    """Counts and means of some questions of a condition."""
    answered, judged = rows["f1"].notna(), rows["judge"].notna()
    return {
        "group": group,
        "type": kind,
        "condition": condition,
        "questions": len(rows),
        "answered": int(answered.sum()),
        "judged": int(judged.sum()),
        "missing": int((~(answered & judged)).sum()),
        **{metric: float(rows[metric].astype(float).mean()) for metric in (*METRICS, *extra)},
        **{f"{column}_n": int(rows[column].notna().sum()) for column in extra},
    }


def _task_average(
    overall: Mapping[str, Any], types: Sequence[Mapping[str, Any]], extra: Sequence[str]
) -> dict[str, Any]:
    """The mean over types of their means; a type without a figure is left out."""
    own = [line for line in types if line["condition"] == overall["condition"]]
    average = dict(overall, group="task-averaged")
    for column in (*METRICS, *extra):
        average[column] = float(pd.Series([line[column] for line in own], dtype=float).mean())
    return average
