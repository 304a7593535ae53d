"""Stage `repair`: GRAFT on the memories of a batch of histories, question by question, in order."""

from __future__ import annotations

import pyarrow as pa

from memory.errors import CallFailed
from memory.repair.graft import Asked, Graft
from memory.repair.log import repairs_table
from memory.repair.protocol import Repairable
from memory.repair.settings import GRAFT_PROFILES, GraftSettings
from results.schemas import METRICS
from tasks.context import open_chat
from tasks.load import loaded
from tasks.memories import memories
from tasks.merge import keep
from tasks.plant import answering
from tasks.stage import Made, Stage, Work

REPAIRS = "repairs"


def make(work: Work) -> Made:
    """Repair each memory for all of its questions; edits for one are there for the next.

    With `gold`, the reference answers are shown, and a question is left alone whose answer had its reward.
    """
    _, questions, _ = loaded(work)
    params = work.params
    settings = GraftSettings(**GRAFT_PROFILES[params["graft"]])
    rewards = _rewards(work)
    repaired: list[tuple[str, dict[str, pa.Table] | CallFailed]] = []
    logs: list[pa.Table] = []
    for history, open_one in memories(work):
        try:
            memory = open_one()
            if not isinstance(memory, Repairable):
                raise TypeError(f"{params['condition']['system']} offers no repair")
            graft = Graft(
                memory.editing(), settings, open_chat(work, "extractor"), answering(work, params["profile"])
            )
            asked = [question for question in questions if question.history == history]
            repairs = [
                graft.repair(
                    Asked(q.id, history, q.text, q.reference, rewards[q.id])
                    if params["gold"] and rewards.get(q.id) is not None
                    else Asked(q.id, history, q.text)
                )
                for q in asked
            ]
        except CallFailed as failed:
            repaired.append((history, failed))
            continue
        repaired.append((history, memory.tables()))
        logs.append(repairs_table(repairs))
    made = keep(repaired)
    return Made({**made.tables, REPAIRS: pa.concat_tables(logs)} if logs else made.tables, made.counts)


def _rewards(work: Work) -> dict[str, float]:
    """What the memory's answers were rewarded with before the repair, by question; an estimate has no such table."""
    if "score" not in work.inputs or "metrics" not in work.inputs["score"].files:
        return {}
    rows = work.read("score", "metrics", METRICS).select(["question", "judge"]).to_pylist()
    return {row["question"]: row["judge"] for row in rows if row["judge"] is not None}


STAGE = Stage("repair", 1, make)
