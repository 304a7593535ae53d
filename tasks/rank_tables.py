"""Stage `rank_tables`: the tables of the ranking study."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from memory.conversation import Question
from results import ranking_tables, ranking_text
from results.paper_tables import PaperTable
from results.ranking import RANKS
from results.split import side
from results.tables import from_rows
from results.taggraph import printed_table
from tasks.bootstrap import PAPER_TEXT
from tasks.load import loaded
from tasks.ranking_stores import can_be_ranked
from tasks.stage import Made, Stage, Work

_FIELDS: list[pa.Field[Any]] = [
    pa.field("type", pa.string()),
    pa.field("questions", pa.int64()),
    pa.field("abstention", pa.int64()),  # left out: there is nothing to find
    pa.field("without_evidence", pa.int64()),  # left out: none that resolves
    pa.field("other_side", pa.int64()),  # left out: the study asks those for development alone
    pa.field("asked", pa.int64()),
    pa.field("unresolved", pa.int64()),  # references of asked questions that match nothing
]
LEFT_OUT = pa.schema(_FIELDS)


def make(work: Work) -> Made:
    """Sum up the ranks of all conditions."""
    params = work.params
    sampling = {"resamples": params["resamples"], "seed": params["seed"]}
    parts = [
        found.read(work.folder, "ranks", RANKS)
        for name, found in work.inputs.items()
        if name.startswith("rank-")
    ]
    ranks = pa.concat_tables([RANKS.empty_table(), *parts]).to_pandas()
    noisy = ranks["condition"].isin(params["noisy"].keys())
    every, ranks = ranks[ranks["size"].isna()], ranks[~noisy]
    whole = ranks[ranks["size"].isna()]
    tables = {
        "ranking": ranking_tables.ranking(whole, **sampling),
        "ranking_types": ranking_tables.ranking_types(whole, **sampling),
        "ranking_ages": ranking_tables.ranking_ages(whole, **sampling),
        "ranking_differences": ranking_tables.ranking_differences(whole, params["conditions"], **sampling),
        "ranking_costs": ranking_tables.ranking_costs(whole),
        "ranking_sizes": ranking_tables.ranking_sizes(ranks, **sampling),
        "ranking_tag_noise": ranking_tables.ranking_tag_noise(every, params["noisy"], **sampling),
    }
    if params["benchmark"] == "longmemeval-s" and len(tables["ranking"]):
        tables["ranking_printed"] = printed_table(tables["ranking"], params["conditions"])
    made = {
        name: pa.Table.from_pandas(table, preserve_index=False)
        for name, table in tables.items()
        if len(table)
    }
    made["ranking_left_out"] = _left_out(loaded(work)[1], params["benchmark"], params["side"])
    texts = _texts(tables, params["benchmark"])
    rows = [{"table": t.name, "markdown": t.markdown(), "latex": t.latex()} for t in texts]
    return Made({**made, "paper_text": from_rows(rows, PAPER_TEXT)}, {"tables": len(made)})


def _texts(tables: dict[str, pd.DataFrame], benchmark: str) -> Iterator[PaperTable]:
    ranking, costs, differences = (
        tables[name] for name in ("ranking", "ranking_costs", "ranking_differences")
    )
    for shown in dict.fromkeys(ranking["side"]) if len(ranking) else ():
        yield ranking_text.ranking_text(ranking, costs, shown, f"evidence on {benchmark}")
        if len(differences):
            yield ranking_text.differences_text(differences, shown)
    for name, text in ranking_text.BY_GROUP.items():
        if len(tables[name]):
            yield text(tables[name])


def _left_out(questions: Sequence[Question], benchmark: str, asked_side: str) -> pa.Table:
    """By question type, how many questions are asked, and why others are not."""
    counts: dict[str, Counter[str]] = {}
    for question in questions:
        found = counts.setdefault(question.type, Counter())
        fate = _fate(question, benchmark, asked_side)
        found.update(["questions", fate])
        found["unresolved"] += len(question.unresolved_evidence) if fate == "asked" else 0
    rows = [
        {"type": kind, **{name: found[name] for name in LEFT_OUT.names if name != "type"}}
        for kind, found in counts.items()
    ]
    return from_rows(rows, LEFT_OUT)


def _fate(question: Question, benchmark: str, asked_side: str) -> str:
    if question.abstention:
        return "abstention"
    if not can_be_ranked(question):
        return "without_evidence"
    own = side(benchmark, question.id, question.history, question.type)
    return "asked" if asked_side in ("all", own) else "other_side"


STAGE = Stage("rank_tables", 3, make)
