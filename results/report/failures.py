"""What failed in a run, by reason, and which rows are missing."""

from __future__ import annotations

import pandas as pd

from results.report.elements import Section, TextTable
from results.report.sources import RunFolder

_GOOD = frozenset({"ok", "empty", "judged"})
_ASKED = {"extractions": "Extraction", "entities": "Question entities", "recalls": "Recall", "answers": "Answer",
          "verdicts": "Verdict"}  # fmt: skip
MOST = 200
"""Reasons that are listed; a table of a thousand distinct messages is read by nobody."""


def failures(run: RunFolder, metrics: pd.DataFrame | None, calls: pd.DataFrame | None) -> Section:
    """Failed rows by reason, rows that are missing, and what was flagged."""
    rows = [row for table, name in _ASKED.items() for row in _failed(run, table, name)]
    lines = _missing(run, metrics)
    lines += [f"Note of the run: {note}." for note in run.about.notes]
    if not rows:
        lines.insert(0, "No row failed.")
    tables = []
    if rows:
        more = len(rows) - MOST
        caption = "Rows that failed, by reason" + (
            f"; {more:,} rarer reasons are left out" if more > 0 else ""
        )
        header = ("What", "Condition", "Status", "Rows", "Tried again by the next run", "Reason")
        by_count = sorted(rows, key=lambda row: -row[3])[:MOST]
        tables.append(
            TextTable(caption, header, tuple((*row[:3], f"{row[3]:,}", *row[4:]) for row in by_count))
        )
    tables += _flagged(run, calls)
    return Section("failures", "Failures and missing rows", lines=tuple(lines), tables=tuple(tables))


def _failed(run: RunFolder, table: str, name: str) -> list[tuple[str, str, str, int, str, str]]:
    columns = (
        "status",
        "reason",
        "final",
        *(("condition",) if table in ("recalls", "answers", "verdicts") else ()),
    )
    frame = run.frame(table, columns)
    if frame is None:
        return []
    bad = frame[~frame["status"].isin(_GOOD)].copy()
    for column, blank in (("condition", ""), ("reason", "no reason given"), ("final", False)):
        there = bad[column].astype(object) if column in bad else pd.Series(None, bad.index, dtype=object)
        bad[column] = there.where(there.notna(), blank)
    return [
        (name, str(condition), str(status), len(own), "no" if final else "yes", str(reason))
        for (condition, status, final, reason), own in bad.groupby(
            ["condition", "status", "final", "reason"], sort=False
        )
    ]


def _missing(run: RunFolder, metrics: pd.DataFrame | None) -> list[str]:
    asked = run.table("questions", ["question"])
    if asked is None or metrics is None:
        return ["The run has not come to its figures yet."]
    lines = []
    for name, own in metrics.groupby("condition", sort=False):
        gaps = {
            "without a row": asked.num_rows - len(own),
            "without a score": int(own["f1"].isna().sum()),
            "without a verdict": int(own["judge"].isna().sum()),
        }
        told = [f"{count:,} {what}" for what, count in gaps.items() if count > 0]
        if told:
            lines.append(f"{name}: of {asked.num_rows:,} questions, {', '.join(told)}.")
    return lines or ["Every question has a score and a verdict in every condition."]


def _flagged(run: RunFolder, calls: pd.DataFrame | None) -> list[TextTable]:
    """What recalls, calls and extractions were flagged with, and how often."""
    found: dict[str, pd.Series] = {}
    recalls = run.frame("recalls", ("condition", "flags"))
    if recalls is not None:
        flags = recalls.explode("flags").dropna(subset=["flags"])
        found |= {f"Recall, {name}": own["flags"] for name, own in flags.groupby("condition", sort=False)}
    if calls is not None:
        found["Calls"] = calls["flags"][calls["flags"] != ""].str.split(" ").explode()
    extractions = run.frame("extractions", ("dropped",))
    if extractions is not None:
        dropped = extractions["dropped"].explode().dropna()
        found["Extraction"] = dropped.map(lambda fault: fault["kind"])
    rows = tuple((where, _counted(flags)) for where, flags in found.items() if len(flags))
    return [TextTable("What was flagged", ("Where", "Flags"), rows)] if rows else []


def _counted(flags: pd.Series) -> str:
    return ", ".join(f"{number:,} {flag}" for flag, number in flags.value_counts().items())
