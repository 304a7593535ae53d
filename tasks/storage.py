"""Stage `storage`: what a store costs to keep, in the paper's format and in Parquet, and what fewer bits keep."""

from __future__ import annotations

import pyarrow as pa

from results.storage import storage, to_table
from tasks.ingest import GRAPH_TABLES
from tasks.stage import Made, Stage, Work


def make(work: Work) -> Made:
    """Measure every input, each a graph, with its name in the column `arm`."""
    params = work.params
    measured = []
    for arm in work.inputs:
        tables = {name: work.read(arm, name) for name in GRAPH_TABLES}
        rows = to_table(storage(tables, params["threshold"], seed=params["seed"]))
        measured.append(rows.add_column(0, "arm", pa.array([arm] * rows.num_rows, pa.string())))
    return Made({"storage": pa.concat_tables(measured)}, {"graphs": len(measured)})


STAGE = Stage("storage", 1, make)
