"""Stage `storage`: what a store costs to keep, in the paper's format and in better ones."""

import pyarrow as pa

from tasks.stage import Made, Stage, Work


def make(work: Work) -> Made:
    rows = [{"arm": a, "format": "json", "bytes": 1} for a in work.inputs]
    return Made({"storage": pa.Table.from_pylist(rows)}, {})


STAGE = Stage("storage", 1, make)
