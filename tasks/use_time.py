"""Stage `use_time`: the tables of the use-time study."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from results import use_time
from results.schemas import METRICS, RECALLS
from tasks.stage import Made, Stage, Work
from tasks.use_time_study import Point

RESCUE = "archive_rescue"


def described(point: Point) -> dict[str, Any]:
    """A point as a row: its arm, and what it is one of."""
    return {
        "arm": point.arm.name,
        "condition": point.condition,
        "tokens": point.tokens,
        "part": point.part,
        "variant": point.variant,
        "retention": point.retention,
        "kept": point.kept,
    }


def make(work: Work) -> Made:
    """Summarise systems, ablations and storage at every budget."""
    params = work.params
    sampling = {"resamples": params["resamples"], "seed": params["seed"]}
    points = pd.DataFrame(params["points"]).astype({"tokens": "Int64"})
    rows = _rows(work)
    means = use_time.means(rows, points, **sampling)
    differences = use_time.differences(rows, params["pairs"], **sampling)
    variants = {str(p["arm"]): str(p["variant"]) for p in params["points"] if p["variant"]}
    suite = use_time.SUITES.get(params["benchmark"], "")
    turned = use_time.differences(rows, params["turned"], **sampling)
    tables = {"use_time": means, "use_time_differences": differences}
    if len(turned):
        tables["ablations"] = use_time.ablations(turned, variants, suite)
    if (points["part"] == "joint").any():
        tables["joint"] = use_time.joint(means)
    made = {
        name: pa.Table.from_pandas(table, schema=use_time.SCHEMAS[name], preserve_index=False)
        for name, table in tables.items()
    }
    return Made(made, {"points": len(points)})


def _rows(work: Work) -> pd.DataFrame:
    """A row a question and arm: its figures, and what its memory and context cost."""
    parts = {"score": ("metrics", METRICS), "recall": ("recalls", RECALLS)}
    tables = {
        name: pa.concat_tables(
            found.read(work.folder, table, schema)
            for key, found in work.inputs.items()
            if key.startswith(f"{name}-")
        )
        for name, (table, schema) in parts.items()
    }
    metrics = tables["score"].to_pandas().rename(columns={"condition": "arm"})
    sizes = tables["recall"].select(["question", "condition", "memory_bytes", "flags"]).to_pandas()
    sizes["archive_rescues"] = [
        list(flags).count(RESCUE) if flags is not None else 0 for flags in sizes.pop("flags")
    ]
    return metrics.merge(sizes.rename(columns={"condition": "arm"}), on=["question", "arm"], how="left")


STAGE = Stage("use_time", 4, make)
