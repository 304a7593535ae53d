"""The questions of a report as JSON for its browser: small records up front, long texts in blocks.

A turn's text is stored once, however many conditions recall it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pandas as pd

from results.report.recalled import LOOKED_AT, SHOWN, Recalled, recalled, turns_of
from results.report.sources import RunFolder

Json = Any
_FIGURES = {"f1": "f1", "judge": "judge", "recall": "turn_recall_5", "mrr": "turn_mrr"}


@dataclass(frozen=True, slots=True)
class Column:
    """One side of the browser: a condition of a run.

    Attributes:
        label: What it is called; no two columns share one.
        run: The run.
        condition: Its condition.
    """

    label: str
    run: RunFolder
    condition: str


@dataclass(frozen=True, slots=True)
class BrowserData:
    """What the browser of questions is made of, before it is cut and packed.

    Attributes:
        index: Columns, types, and by question its texts, answers, figures and verdicts.
        details: By question, in the index's order: evidence, rankings.
        contexts: By question, a text for each column and how long it is uncut; none where nothing was recalled.
        turns: The turns that questions refer to by their number.
    """

    index: dict[str, Json]
    details: list[Json]
    contexts: list[list[tuple[str, int] | None]]
    turns: list[dict[str, Json]]


@dataclass(slots=True)
class _Turns:
    """Numbers of the turns that are referred to, in the order of first use."""

    numbers: dict[tuple[int, str], int] = field(default_factory=dict)

    def number(self, data: int, turn: str) -> int:
        return self.numbers.setdefault((data, turn), len(self.numbers))


def browser_data(columns: Sequence[Column]) -> BrowserData:
    """Collect the questions that the columns' runs have asked.

    Raises:
        TornTable: If a table is not whole.
    """
    runs = list(dict.fromkeys(column.run for column in columns))
    asked = _questions(runs)
    found = {run: recalled(run, [c.condition for c in columns if c.run is run]) for run in runs}
    recalls = [found[column.run] for column in columns]
    answered = [_answered(column) for column in columns]
    # Runs of the same data share their turns.
    datas = {run: next(i for i, r in enumerate(runs) if r.about.sha256 == run.about.sha256) for run in runs}
    turns = _Turns()
    index, details, contexts = [], [], []
    for question in asked:
        name = question["question"]
        rows = [rows_of.get(name) for rows_of in answered]
        index.append(_entry(question, rows))
        kept = [by.get((name, column.condition)) for by, column in zip(recalls, columns, strict=True)]
        own = datas[question["run"]]
        sides = [datas[column.run] for column in columns]
        details.append(_detail(question, kept, own, sides, turns))
        contexts.append([None if one is None else (one.context, one.characters) for one in kept])
    return BrowserData(
        index={"columns": [column.label for column in columns], "questions": index},
        details=details,
        contexts=contexts,
        turns=_turn_records(runs, datas, turns),
    )


def _questions(runs: Sequence[RunFolder]) -> list[dict[str, Any]]:
    """Every question once, in the order of the first run that has it."""
    found: dict[str, dict[str, Any]] = {}
    for run in runs:
        table = run.table("questions")
        for row in [] if table is None else table.to_pylist():
            found.setdefault(row["question"], {**row, "run": run})
    return list(found.values())


def _answered(column: Column) -> dict[str, dict[str, Any]]:
    """By question, what became of it: its answer, verdict and figures."""
    rows: dict[str, dict[str, Any]] = {}
    of_condition = [("condition", "==", column.condition)]
    for name, wanted in (
        ("answers", ("question", "status", "reason", "answer")),
        ("verdicts", ("question", "status", "reason", "why")),
        ("metrics", ("question", "context_tokens", *_FIGURES.values())),
    ):
        table = column.run.table(name, wanted, where=of_condition)
        for row in [] if table is None else table.to_pylist():
            rows.setdefault(row["question"], {})[name] = row
    return rows


def _entry(question: Mapping[str, Any], rows: Sequence[Mapping[str, Any] | None]) -> dict[str, Json]:
    entry = {
        "id": question["question"],
        "type": question["type"] or "",
        "text": question["text"] or "",
        "reference": question["reference"] or "",
        "date": _day(question["date"]),
        "history": question["history"] or "",
        "rows": [None if row is None else _row(row) for row in rows],
    }
    return {**entry, "abstention": True} if question["abstention"] else entry


def _row(row: Mapping[str, Any]) -> dict[str, Json]:
    """Answer, verdict and figures of a question and condition; what is not there is left out."""
    answer, verdict, metrics = (row.get(name, {}) for name in ("answers", "verdicts", "metrics"))
    told = {
        "answer": answer.get("answer"),
        "failed": None if answer.get("status") in ("ok", None) else answer.get("reason") or answer["status"],
        "verdict": verdict.get("status"),
        "why": verdict.get("why") or (verdict.get("reason") if verdict.get("status") != "judged" else None),
        "tokens": metrics.get("context_tokens"),
        **{name: _rounded(metrics.get(column)) for name, column in _FIGURES.items()},
    }
    return {name: value for name, value in told.items() if value is not None}


def _detail(
    question: Mapping[str, Any],
    kept: Sequence[Recalled | None],
    own: int,
    sides: Sequence[int],
    turns: _Turns,
) -> dict[str, Json]:
    evidence = list(question["evidence"] or ())
    return {
        "evidence": [turns.number(own, turn) for turn in evidence],
        "unresolved": list(question["unresolved_evidence"] or ()),
        "rows": [
            None if one is None else _ranking(one, evidence, side, turns)
            for one, side in zip(kept, sides, strict=True)
        ],
    }


def _ranking(row: Recalled, evidence: Sequence[str], data: int, turns: _Turns) -> dict[str, Json]:
    scores = [*row.scores, *[None] * len(row.turns)]
    rank = {turn: place for place, turn in enumerate(row.turns[:LOOKED_AT], start=1)}
    told = {
        "turns": [turns.number(data, turn) for turn in row.turns[:SHOWN]],
        "scores": [_rounded(score) for score in scores[: min(SHOWN, len(row.turns))]],
        "of": row.all_turns,
        "ranks": [rank.get(turn) for turn in evidence],
        "items": row.items,
        "edges": row.edges,
        "flags": list(row.flags) or None,
        "failed": None if row.status == "ok" else row.reason or row.status,
    }
    return {name: value for name, value in told.items() if value is not None}


def _turn_records(
    runs: Sequence[RunFolder], datas: Mapping[RunFolder, int], turns: _Turns
) -> list[dict[str, Json]]:
    texts = {
        datas[run]: turns_of(run, [turn for data, turn in turns.numbers if data == datas[run]])
        for run in reversed(runs)
    }
    return [_turn(turn, texts.get(data, {}).get(turn)) for data, turn in turns.numbers]


def _turn(name: str, row: Mapping[str, Any] | None) -> dict[str, Json]:
    if row is None:
        return {"id": name}
    told = {
        "id": name,
        "session": row["session"],
        "date": _day(row["date"]),
        "speaker": row["speaker"] or row["role"],
        "text": row["text"] or "",
        "caption": row["caption"],
    }
    return {key: value for key, value in told.items() if value is not None}


def _day(moment: Any) -> str | None:
    return None if moment is None or pd.isna(moment) else f"{moment:%Y-%m-%d %H:%M}"


def _rounded(figure: float | None) -> float | None:
    return None if figure is None or not math.isfinite(figure) else round(figure, 4)
