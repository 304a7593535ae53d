"""Stage `plant`: faults are planted in copies of GAAMA's graphs, harmful edits offered, and the repair is watched.

Only offline models are asked, so that it costs nothing and is the same in every run.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from memory.conversation import Question
from memory.errors import CallFailed
from memory.repair.graft import Answering, Graft
from memory.repair.planting import Planted, plant_and_repair
from memory.repair.protocol import Repairable
from memory.repair.settings import GRAFT_PROFILES, GraftSettings
from results.planted import planted_table
from tasks.context import open_chat
from tasks.load import loaded
from tasks.memories import memories
from tasks.prompts.answer import Profile, read, request
from tasks.stage import Made, Stage, Work

SAMPLED = 4
"""Questions of a history that are repaired, for each fault: those with faults, and others to see what is noise."""


def make(work: Work) -> Made:
    """Plant and repair in each history; one whose memory could not be built has no faults."""
    _, questions, _ = loaded(work)
    settings = GraftSettings(**GRAFT_PROFILES[work.params["graft"]])
    tables: list[pa.Table] = []
    for what in ("facts", "edges"):
        planted: list[Planted] = []
        for history, open_one in memories(work):
            try:
                memory = open_one()
            except CallFailed:
                continue  # counted where its recalls fail
            if not isinstance(memory, Repairable):
                raise TypeError(f"{work.params['condition']['system']} offers no repair")
            graft = Graft(
                memory.editing(), settings, open_chat(work, "extractor"), answering(work, "detailed")
            )
            faults, seed = work.params["faults"], work.params["seed"]
            asked = _some([q for q in questions if q.history == history], SAMPLED * faults, seed)
            planted.append(plant_and_repair(graft, asked, faults, seed, what))
        tables.append(_table(work, what, planted))
    return Made({"planted": pa.concat_tables(tables)}, {"ok": sum(table.num_rows for table in tables)})


def _some(questions: Sequence[Question], count: int, seed: int) -> list[Question]:
    """A seeded sample of questions, in order."""
    chosen = np.random.default_rng(seed).permutation(len(questions))[:count]
    return [questions[place] for place in sorted(chosen.tolist())]


def answering(work: Work, profile: Profile) -> Answering:
    """Answers as the work's answerer gives them with the study's own prompt."""
    chat = open_chat(work, "answerer")

    def answer(question: str, context: str) -> str:
        return chat.ask(request(question, context, profile=profile, question_date=None), read).value

    return answer


def _table(work: Work, what: str, planted: Sequence[Planted]) -> pa.Table:
    rows = planted_table(planted).assign(graft=work.params["graft"], planted=what)
    return pa.Table.from_pandas(rows[PLANTED.names], schema=PLANTED, preserve_index=False)


_PLANTED: dict[str, pa.DataType] = {
    "graft": pa.string(),
    "planted": pa.string(),
    "outcome": pa.string(),
    "harm": pa.string(),
    "count": pa.int64(),
    "n": pa.int64(),
    "share": pa.float64(),
    "low": pa.float64(),
    "high": pa.float64(),
}
PLANTED = pa.schema(_PLANTED)
STAGE = Stage("plant", 1, make)
