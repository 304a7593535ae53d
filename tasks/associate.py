"""Stage `associate`: the tables of the association study."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from results import association, attribution
from results.paper_tables import PaperTable
from results.schemas import METRICS
from results.statistics import wilson
from results.tables import from_rows
from tasks.association_study import GRAFT, IMPROVED, OBSERVATIONS, PUBLISHED, RAG, SEMANTIC
from tasks.bootstrap import PAPER_TEXT
from tasks.load import loaded
from tasks.stage import Artefact, Made, Stage, Work

LARGE_MODEL = "a large model, with the whole conversation in view"


def make(work: Work) -> Made:
    """Summarise evidence by words, quirks, hubs and rewards."""
    params = work.params
    sampling = {"resamples": params["resamples"], "seed": params["seed"]}
    asked = pd.DataFrame(
        [(q.id, q.history, q.type) for q in loaded(work)[1]], columns=["question", "history", "type"]
    )
    words = _parts(work, "words", "words").merge(asked, on="question", how="left")
    words = words[words["status"] == "ok"]
    answered = words[words["condition"].isin(params["conditions"])]
    evidence = association.evidence(answered, _facts_by(params), **sampling)
    pairs = list(_pairs(params["conditions"]))
    differences = association.evidence_differences(answered, pairs, **sampling)
    quirks = association.evidence_differences(words, list(_quirk_pairs(params["quirks"])), **sampling)
    metrics = _parts(work, "score", "metrics", METRICS)
    tables = {
        "evidence_by_words": evidence,
        "evidence_differences": differences,
        "quirks": quirks,
        "hub_summary": _hubs(work, sampling),
    }
    if planted := [found for name, found in work.inputs.items() if name.startswith("plant-")]:
        tables["planted"] = _planted(work, planted)
    texts = [
        association.evidence_text(evidence),
        *_difference_texts(differences, quirks),
        association.table_3(metrics, params["conditions"], **sampling),
    ]
    if {PUBLISHED, SEMANTIC} <= set(params["conditions"]):
        texts.append(association.table_5(metrics, PUBLISHED, SEMANTIC))
    if GRAFT in set(metrics["condition"]):
        as_printed, tables["graft_attribution"] = _attribution(work, metrics, sampling)
        texts.append(association.table_4(as_printed, tables["graft_attribution"]))
    made = {name: pa.Table.from_pandas(table, preserve_index=False) for name, table in tables.items()}
    made |= {text.name: text.arrow() for text in texts if text.name not in made}
    rows = [{"table": t.name, "markdown": t.markdown(), "latex": t.latex()} for t in texts]
    return Made({**made, "paper_text": from_rows(rows, PAPER_TEXT)}, {"tables": len(made)})


def _difference_texts(differences: pd.DataFrame, quirks: pd.DataFrame) -> Iterator[PaperTable]:
    found = {"evidence_differences": differences, "quirks": quirks}
    for name, table in found.items():
        if len(table):
            yield association.difference_text(table, name, association.DIFFERENCES[name])


def _parts(work: Work, prefix: str, table: str, schema: pa.Schema | None = None) -> pd.DataFrame:
    parts = [found for name, found in work.inputs.items() if name.startswith(f"{prefix}-")]
    read = [part.read(work.folder, table, schema) for part in parts]
    return pa.concat_tables(read).to_pandas() if read else pd.DataFrame()


def _facts_by(params: dict[str, Any]) -> dict[str, str]:
    """Who wrote the facts of each condition, where a benchmark ships them."""
    if params["extractor"] != OBSERVATIONS:
        return {}
    return {name: LARGE_MODEL for name in params["conditions"] if name.startswith(PUBLISHED)}


def _pairs(conditions: list[str]) -> Iterator[tuple[str, str]]:
    """Every arm against RAG, then what the paper compares: diffusion with similarity alone, improved with published."""
    yield from ((name, RAG) for name in conditions if name != RAG and RAG in conditions)
    for a, b in (
        (PUBLISHED, SEMANTIC),
        (PUBLISHED, "gaama-ppr-none"),
        (IMPROVED, PUBLISHED),
        (IMPROVED, "bm25"),
    ):
        if {a, b} <= set(conditions):
            yield a, b
    for name in conditions:
        if name.startswith(f"{PUBLISHED}-no-") and PUBLISHED in conditions:
            yield name, PUBLISHED


def _quirk_pairs(quirks: list[str]) -> Iterator[tuple[str, str]]:
    for name in quirks:
        yield name, PUBLISHED if name.startswith("published-") else IMPROVED


def _hubs(work: Work, sampling: dict[str, int]) -> pd.DataFrame:
    sizes, rows = _parts(work, "hubs", "hubs"), _parts(work, "hubs", "hub_rows")
    return association.hub_summary(sizes, rows, **sampling) if len(rows) else pd.DataFrame()


def _planted(work: Work, parts: list[Artefact]) -> pd.DataFrame:
    """What became of planted faults and harmful edits, over all histories."""
    read = pa.concat_tables([part.read(work.folder, "planted") for part in parts]).to_pandas()
    keys = ["graft", "planted", "outcome", "harm"]
    found = read.groupby(keys, sort=False, dropna=False)[["count", "n"]].sum().reset_index()
    shares = [wilson(int(row["count"]), int(row["n"])) for row in found.to_dict("records")]
    return found.assign(
        share=[s.share for s in shares], low=[s.low for s in shares], high=[s.high for s in shares]
    )


def _attribution(
    work: Work, metrics: pd.DataFrame, sampling: dict[str, int]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Table 4 as printed, and with the noise of repeated unedited runs taken off."""
    repairs = _parts(work, "repair", "repairs")
    by_arm = {
        arm: rows.set_index("question")["judge"] for arm, rows in metrics.groupby("condition", sort=False)
    }
    asked = metrics[metrics["condition"] == PUBLISHED].set_index("question")
    rewards = asked[["history", "type"]].assign(
        before=by_arm[PUBLISHED],
        after=by_arm[GRAFT],
        executed=repairs.set_index("question")["executed"].reindex(asked.index).fillna(0).astype(int),
    )
    again = [by_arm[arm].reindex(asked.index) for arm in by_arm if str(arm).startswith(f"{PUBLISHED}-again-")]
    rows = rewards.reset_index()
    faithful = attribution.faithful_attribution(rows, np.column_stack(again), **sampling)
    return attribution.attribution(rows), faithful


STAGE = Stage("associate", 2, make)
