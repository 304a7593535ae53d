"""The tables that a user loads: the parts of a run's stages, each table as one file in the run folder."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path

import pyarrow as pa

from results import tables
from results.arena import arena_text
from results.switches_text import TEXTS
from results.table_3 import table_3
from results.use_time_text import TEXTS as USE_TIME_TEXTS
from results.waterfall_types import waterfall_text
from tasks.parameters import parameters
from tasks.plan import Artefacts
from tasks.runs import Run
from tasks.stage import Artefact

_ONE_FILE = (
    "load",
    "extract",
    "embed",
    "growth",
    "entities",
    "storage",
    "frontier",
    "recall",
    "answer",
    "judge",
    "score",
    "waterfall",
    "waterfall_types",
    "switches",
    "switches_budgets",
    "switches_tables",
    "bootstrap",
    "analyse",
    "words",
    "hubs",
    "associate",
    "arena",
    "use_time",
    "rank",
    "five_ws",
    "rank_tables",
)

_TEXTS = (
    *("*table_*.md", "*table_*.tex", "waterfall_types.*", *(f"{name}.md" for name in TEXTS)),
    *(
        f"{name}.{end}"
        for name in (
            *("evidence_by_words", "evidence_differences", "quirks", "arena_steps", "ranking_*"),
            *USE_TIME_TEXTS,
        )
        for end in ("md", "tex")
    ),
)
"""Tables as text that a run may have."""


def _parts(folder: Path, artefacts: Sequence[Artefact], table: str) -> Iterator[pa.Table]:
    for artefact in artefacts:
        if table in artefact.files:
            yield artefact.read(folder, table)


def _tables_of(artefacts: Sequence[Artefact]) -> list[str]:
    """The tables of a stage's artefacts; one of which nothing could be built may lack some."""
    return list(dict.fromkeys(table for artefact in artefacts for table in artefact.files))


def about(run: Run) -> dict[str, str]:
    """What travels with every table of a run."""
    return {
        "run": run.name,
        "benchmark": run.study.benchmark,
        "variant": run.variant,
        "data_sha256": run.sha256,
    }


def publish(folder: Path, run: Run, made: Artefacts, ledger: Mapping[str, pa.Table]) -> None:
    """Write every table that the run has made as one Parquet file, holding one part at a time.

    Each says in its metadata which run it is of, and which data that has read.

    Graphs go to `graphs/<condition>/<table>.parquet`, with a `history` column; the paper's tables also as Markdown
    and LaTeX.
    """
    _clear(folder)
    _one_file_a_table(folder, folder, run, made, _ONE_FILE)
    _paper_text(folder, folder, made)
    _switches_text(folder, made)
    _parameters(folder, run)
    built = [*made.by_stage.get("merge", []), *made.by_stage.get("repair", [])]
    for condition, artefacts in _by_arm(built).items():
        for table in _tables_of(artefacts):
            path = folder / "graphs" / condition / f"{table}.parquet"
            tables.write_parts(path, _parts(folder, artefacts, table), about(run))
    _stores(folder, run, made)
    for name, rows in ledger.items():
        tables.write(folder / f"{name}.parquet", rows, about(run))


def _parameters(folder: Path, run: Run) -> None:
    """Table 3, which follows from the study alone."""
    rows = [asdict(parameter) for parameter in parameters(run.study)]
    if rows:
        table = table_3(rows)
        tables.write(folder / f"{table.name}.parquet", table.arrow(), about(run))
        tables.write_bytes(folder / f"{table.name}.md", table.markdown().encode())
        tables.write_bytes(folder / f"{table.name}.tex", table.latex().encode())


def _switches_text(folder: Path, made: Artefacts) -> None:
    for artefact in made.by_stage.get("switches_tables", []):
        for name, written in TEXTS.items():
            text = written(artefact.read(folder, name).to_pandas())
            tables.write_bytes(folder / f"{text.name}.md", text.markdown().encode())


def _clear(folder: Path) -> None:
    """Remove the tables of an earlier end of the run: one that this end has not made would look like its own."""
    for pattern in ("*.parquet", *_TEXTS, "graphs/*/*.parquet"):
        for path in folder.glob(pattern):
            path.unlink()


def _by_arm(artefacts: Sequence[Artefact]) -> dict[str, list[Artefact]]:
    """Artefacts of batches that are called `<arm>-<number>`, by arm."""
    found: dict[str, list[Artefact]] = {}
    for artefact in artefacts:
        found.setdefault(artefact.batch.rpartition("-")[0], []).append(artefact)
    return found


def _stores(folder: Path, run: Run, made: Artefacts) -> None:
    """The one store of a forgetting study, as it was before and after each way to forget, and what each pass did.

    `growth`, `forgetting` and `forgetting_periodic` hold all arms, named in their column `arm`.
    """
    chains = _by_arm(made.by_stage.get("ingest", []))
    pruned = {artefact.batch: artefact for artefact in made.by_stage.get("prune", [])}
    for arm, artefact in [*((chain, parts[-1]) for chain, parts in chains.items()), *pruned.items()]:
        for table in artefact.files:
            if table not in ("growth", "passes", "forgetting"):
                path = folder / "graphs" / arm / f"{table}.parquet"
                tables.write_parts(path, _parts(folder, [artefact], table), about(run))
    segments = [(chain, part) for chain, parts in chains.items() for part in parts]
    for name, table, parts in (
        ("growth", "growth", segments),
        ("forgetting_periodic", "passes", segments),
        ("forgetting", "forgetting", list(pruned.items())),
    ):
        named = (_named(arm, part.read(folder, table)) for arm, part in parts if table in part.files)
        tables.write_parts(folder / f"{name}.parquet", named, about(run))


def _named(arm: str, table: pa.Table) -> pa.Table:
    return table.add_column(0, "arm", pa.array([arm] * table.num_rows, pa.string()))


def publish_verdicts(folder: Path, to: Path, run: Run, made: Artefacts) -> None:
    """Write the tables that another judge changes into a folder of their own."""
    _one_file_a_table(
        folder,
        to,
        run,
        made,
        ("judge", "score", "waterfall", "waterfall_types", "bootstrap", "arena", "associate", "use_time"),
    )
    _paper_text(folder, to, made)


def _one_file_a_table(folder: Path, to: Path, run: Run, made: Artefacts, stages: Sequence[str]) -> None:
    # By table, not by stage: the tables of the paper as text come from more than one.
    artefacts = [artefact for stage in stages for artefact in made.by_stage.get(stage, [])]
    for table in _tables_of(artefacts):
        tables.write_parts(to / f"{table}.parquet", _parts(folder, artefacts, table), about(run))


def _paper_text(folder: Path, to: Path, made: Artefacts) -> None:
    texts = [
        waterfall_text(artefact.read(folder, "waterfall_types").to_pandas())
        for artefact in made.by_stage.get("waterfall_types", [])
    ]
    texts += [
        arena_text(*(artefact.read(folder, name).to_pandas() for name in ("arena_steps", "arena_slopes")))
        for artefact in made.by_stage.get("arena", [])
    ]
    texts += [
        written(artefact.read(folder, name).to_pandas())
        for artefact in made.by_stage.get("use_time", [])
        for name, written in USE_TIME_TEXTS.items()
        if name in artefact.files
    ]
    for text in texts:
        tables.write_bytes(to / f"{text.name}.md", text.markdown().encode())
        tables.write_bytes(to / f"{text.name}.tex", text.latex().encode())
    for artefact in (
        *made.by_stage.get("bootstrap", []),
        *made.by_stage.get("associate", []),
        *made.by_stage.get("rank_tables", []),
    ):
        for row in artefact.read(folder, "paper_text").to_pylist():
            tables.write_bytes(to / f"{row['table']}.md", row["markdown"].encode())
            tables.write_bytes(to / f"{row['table']}.tex", row["latex"].encode())
