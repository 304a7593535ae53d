"""Stage `switches_tables`: what each switch, merge rule and budget is worth, from the rows of all arms."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from results.switches import (
    BUDGET_ROWS,
    SWITCH_ROWS,
    Sampling,
    budget_table,
    rule_table,
    sweep_table,
    switch_table,
)
from tasks.load import loaded
from tasks.stage import Made, Stage, Work
from tasks.switches_arms import named


def make(work: Work) -> Made:
    """Summarise the arms and the budgets of all histories."""
    _, questions, _ = loaded(work)
    conversations = {question.id: question.history for question in questions}
    shared = len(set(conversations.values())) < len(conversations)
    sampling = Sampling(conversations if shared else None, work.params["resamples"], work.params["seed"])
    types = pd.Series({question.id: question.type for question in questions})
    rows = _rows(work, "switches", "switch_rows", SWITCH_ROWS)
    arms = named(work.params["bases"])
    tables = {
        "switches": switch_table(rows, arms, sampling),
        "merge_rules": rule_table(rows, types, arms, sampling),
        "sweep": sweep_table(rows, arms, sampling),
        "equal_budget": budget_table(_rows(work, "switches_budgets", "budget_rows", BUDGET_ROWS), sampling),
    }
    made = {name: pa.Table.from_pandas(table, preserve_index=False) for name, table in tables.items()}
    return Made(made, {name: len(table) for name, table in tables.items()})


STAGE = Stage("switches_tables", 2, make)


def _rows(work: Work, stage: str, table: str, schema: pa.Schema) -> pd.DataFrame:
    parts = [part for name, part in work.inputs.items() if name.startswith(f"{stage}-")]
    return pa.concat_tables([part.read(work.folder, table, schema) for part in parts]).to_pandas()
