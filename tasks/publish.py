"""The tables that a user loads: the parts of a run's stages, each table as one file in the run folder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from results import tables
from tasks.plan import Artefacts
from tasks.runs import Run
from tasks.stage import Artefact

_ONE_FILE = ("load", "extract", "embed", "recall", "answer", "judge", "score", "bootstrap")


def _parts(folder: Path, artefacts: Sequence[Artefact], table: str) -> Iterator[pa.Table]:
    for artefact in artefacts:
        yield artefact.read(folder, table)


def about(run: Run) -> dict[str, str]:
    """What travels with every table of a run."""
    return {
        "run": run.name,
        "benchmark": run.study.benchmark,
        "variant": run.variant,
        "data_sha256": run.sha256,
    }


def publish(folder: Path, run: Run, made: Artefacts, calls: pa.Table) -> None:
    """Write every table of the run as one Parquet file, holding one part at a time.

    Each says in its metadata which run it is of, and which data that has read.

    Graphs go to `graphs/<condition>/<table>.parquet`, with a `history` column; the paper's tables also as Markdown
    and LaTeX.
    """
    _one_file_a_table(folder, folder, run, made, _ONE_FILE)
    _paper_text(folder, folder, made)
    by_condition: dict[str, list[Artefact]] = {}
    for artefact in made.by_stage.get("merge", []):
        by_condition.setdefault(artefact.batch.rpartition("-")[0], []).append(artefact)
    for condition, artefacts in by_condition.items():
        for table in artefacts[0].files:
            path = folder / "graphs" / condition / f"{table}.parquet"
            tables.write_parts(path, _parts(folder, artefacts, table), about(run))
    tables.write(folder / "calls.parquet", calls, about(run))


def publish_verdicts(folder: Path, to: Path, run: Run, made: Artefacts) -> None:
    """Write the tables that another judge changes into a folder of their own."""
    _one_file_a_table(folder, to, run, made, ("judge", "score", "bootstrap"))
    _paper_text(folder, to, made)


def _one_file_a_table(folder: Path, to: Path, run: Run, made: Artefacts, stages: Sequence[str]) -> None:
    for stage in stages:
        artefacts = made.by_stage.get(stage, [])
        for table in artefacts[0].files if artefacts else ():
            tables.write_parts(to / f"{table}.parquet", _parts(folder, artefacts, table), about(run))


def _paper_text(folder: Path, to: Path, made: Artefacts) -> None:
    for row in made.by_stage["bootstrap"][0].read(folder, "paper_text").to_pylist():
        tables.write_bytes(to / f"{row['table']}.md", row["markdown"].encode())
        tables.write_bytes(to / f"{row['table']}.tex", row["latex"].encode())
