"""Stage `arena`: MemoryArena's rewards by step, and what the advantage over the full context becomes."""

from __future__ import annotations

import pyarrow as pa

from results.arena import arena_slopes, arena_steps
from results.schemas import METRICS
from tasks.load import loaded
from tasks.stage import Made, Stage, Work


def make(work: Work) -> Made:
    """Count the rewards of all conditions by step."""
    after = {question.id: question.after for question in loaded(work)[1]}
    parts = [part for name, part in work.inputs.items() if name.startswith("score-")]
    metrics = pa.concat_tables([part.read(work.folder, "metrics", METRICS) for part in parts]).to_pandas()
    rewards = metrics.assign(step=metrics["question"].map(after))
    given = {"resamples": work.params["resamples"], "seed": work.params["seed"]}
    benchmark = work.params["benchmark"]
    tables = {
        "arena_steps": arena_steps(rewards, benchmark, **given),
        "arena_slopes": arena_slopes(rewards, benchmark, **given),
    }
    return Made(tables, {"ok": tables["arena_steps"].num_rows})


STAGE = Stage("arena", 1, make)
