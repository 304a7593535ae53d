"""Stage `waterfall_types`: the loss waterfall of all conditions, counted by question type."""

from __future__ import annotations

import pyarrow as pa

from results.schemas import WATERFALL
from results.waterfall_types import waterfall_types
from tasks.stage import Made, Stage, Work


def make(work: Work) -> Made:
    """Count the traced questions of all conditions."""
    parts = [artefact.read(work.folder, "waterfall", WATERFALL) for artefact in work.inputs.values()]
    counted = waterfall_types(pa.concat_tables(parts).to_pandas())
    return Made({"waterfall_types": counted}, {"lines": counted.num_rows})


STAGE = Stage("waterfall_types", 1, make)
