"""Where a run's figures come from: study, data, models, prompts, prices, seeds, versions."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from results.report.elements import Section, TextTable
from results.report.run_tables import Record, as_float, frame_table
from results.report.sources import RunFolder

_ROLES = ("extractor", "query", "answerer", "judge", "embedder")


def provenance(run: RunFolder, prices: Mapping[str, str], prices_of: str) -> Section:
    """What it takes to audit the run, or to run it again.

    Args:
        run: The run.
        prices: By model, its price in words.
        prices_of: The date of the prices.
    """
    about, study = run.about, run.about.study
    models = study.get("models", {})
    facts = [
        ("Run", run.name),
        ("State", f"{about.status}, {about.updated}"),
        ("Data", about.variant),
        ("SHA-256 of the data", about.sha256),
        ("Seed", str(study.get("seed", ""))),
        ("Resamples", str(study.get("resamples", ""))),
        ("Judge's prompt", str(study.get("judge", ""))),
        *((role.capitalize(), str(models.get(role, ""))) for role in _ROLES),
        *_prompts(run),
        ("Date of the prices", prices_of),
    ]
    told = tuple(prices.items())
    tables = [
        *_parameters(run),
        TextTable("Prices", ("Model", "Dollars for a million tokens"), told),
        TextTable("Rows by stage", ("Stage", "Rows"), _counts(about.counts)),
        TextTable("Versions", ("Package", "Version"), tuple(about.versions.items()), folded=True),
    ]
    texts = (
        ("The study, in full", json.dumps(study, indent=2, ensure_ascii=False)),
        ("Every condition's settings, in full", json.dumps(about.arms, indent=2, ensure_ascii=False)),
    )
    shown = tuple(table for table in tables if table.rows)
    return Section("provenance", "Provenance", tuple(facts), tables=shown, texts=texts)


def _parameters(run: RunFolder) -> list[TextTable]:
    """Table 3: where the thresholds and the other parameters come from."""
    header = ("Condition", "Parameter", "Value", "Basis", "In the paper")

    def row(line: Record) -> tuple[str, ...]:
        names = str(line["condition"]), str(line["parameter"])
        paper = as_float(line["paper_value"])
        return (*names, f"{line['value']:,g}", str(line["basis"]), "" if math.isnan(paper) else f"{paper:,g}")

    caption = "Parameters of the memories and what they stand on (the paper's Table 3)"
    table = frame_table(run, "table_3", caption, header, row)
    return [] if table is None else [table]


def _prompts(run: RunFolder) -> list[tuple[str, str]]:
    """Hashes of the prompts that are recorded: those of the extraction."""
    table = run.table("extractions", ("prompt",))
    hashes: list[Any] = [] if table is None else pc.unique(table["prompt"]).to_pylist()
    told = ", ".join(str(each) for each in hashes if each)
    return [("Hash of the extraction's prompt", told)] if told else []


def _counts(counts: Mapping[str, Mapping[str, int]]) -> tuple[tuple[str, str], ...]:
    return tuple(
        (stage, ", ".join(f"{number:,} {status}" for status, number in rows.items()))
        for stage, rows in counts.items()
    )
