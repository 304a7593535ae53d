"""Stage `bootstrap`: means with intervals, paired comparisons, and the tables of the paper."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from results.paper_tables import paper_tables
from results.schemas import METRICS
from results.tables import from_rows
from tasks.stage import Made, Stage, Work

EXTRA = ("f1_improved", "turn_recall_5", "turn_recall_10", "turn_mrr", "turn_ndcg_10", "context_tokens")

PAPER_TEXT = pa.schema({"table": pa.string(), "markdown": pa.string(), "latex": pa.string()})


def pairs(conditions: Sequence[str]) -> list[tuple[str, str]]:
    """Which conditions are compared, each as A minus B.

    Every condition with `flat` (or with the first, where there is no `flat`); an improved profile also with the
    published one of its system, and with `flat-improved`, whose answerer is shown the same dates.
    """
    if not conditions:
        return []
    baseline = "flat" if "flat" in conditions else conditions[0]
    found = [(name, baseline) for name in conditions if name != baseline]
    for name in conditions:
        if name.endswith("-improved"):
            found += [(name, other) for other in (name.removesuffix("-improved"), "flat-improved")]
    return [pair for pair in dict.fromkeys(found) if pair[0] != pair[1] and pair[1] in conditions]


def make(work: Work) -> Made:
    """Resample the metrics of all conditions."""
    parts = [artefact.read(work.folder, "metrics", METRICS) for artefact in work.inputs.values()]
    metrics = pa.concat_tables(parts).to_pandas()
    compared = [(a, b) for a, b in work.params["pairs"]]
    made = paper_tables(
        metrics, compared, extra=EXTRA, resamples=work.params["resamples"], seed=work.params["seed"]
    )
    text = from_rows(
        [{"table": t.name, "markdown": t.markdown(), "latex": t.latex()} for t in made], PAPER_TEXT
    )
    return Made({**{t.name: t.arrow() for t in made}, "paper_text": text}, {"tables": len(made)})


STAGE = Stage("bootstrap", 1, make)
