"""Stage `five_ws`: how full a condition's notes are, and which of a question's tags its missed evidence lacks."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pyarrow as pa

from memory.conversation import Question
from memory.errors import CallFailed
from memory.prompts.extraction import spoken_text
from memory.prompts.five_ws import SLOTS
from memory.systems.taggraph import TagGraphMemory
from memory.taggraph.notes import NO_TAGS, NOTES
from memory.taggraph.settings import TagGraphSettings
from memory.taggraph.vocabulary import Vocabulary
from results.split import side
from results.taggraph import CAUSE_COUNTS, FILL, MISSES, causes_table, fill_table, missed_table
from tasks.context import memory_models
from tasks.load import loaded
from tasks.merge import merged
from tasks.stage import Made, Stage, Work

Tables = dict[str, pa.Table]


def make(work: Work) -> Made:
    """Read the notes of all memories of a condition, and ask again for what it missed; every call is bought already."""
    condition = work.params["condition"]
    settings = TagGraphSettings(**condition["settings"])
    tables = _memories(work)
    notes = tables.get("notes", NOTES.empty_table())
    made = {"five_ws_fill": fill_table(notes, settings.slots)}
    if settings.retrieval == "graph":
        asked, said = _asked(work, settings, tables)
        misses = missed_table(asked, notes, said, Vocabulary(settings.normalisation))
        made |= {"five_ws_misses": misses, "five_ws_causes": causes_table(misses)}
    schemas = {"five_ws_fill": FILL, "five_ws_misses": MISSES, "five_ws_causes": CAUSE_COUNTS}
    for table in made.values():
        table.insert(0, "condition", condition["name"])
    return Made(
        {
            name: pa.Table.from_pandas(table, schemas[name], preserve_index=False)
            for name, table in made.items()
        },
        {"notes": notes.num_rows},
    )


def _memories(work: Work) -> Tables:
    """The tables of all memories, each with a column `history`."""
    built = [artefact for name, artefact in work.inputs.items() if name.startswith("merge-")]
    names = dict.fromkeys(name for artefact in built for name in artefact.files)
    return {
        name: pa.concat_tables(a.read(work.folder, name) for a in built if name in a.files) for name in names
    }


def _asked(work: Work, settings: TagGraphSettings, tables: Tables) -> tuple[pd.DataFrame, dict[str, str]]:
    """The questions with what was recalled for them and their tags, and what their evidence says."""
    histories, questions, _ = loaded(work)
    wanted = frozenset(work.params["questions"])
    models = memory_models(work)
    rows: list[dict[str, Any]] = []
    said: dict[str, str] = {}
    for history in work.params["histories"]:
        try:
            memory = TagGraphMemory.from_tables(merged(work, history, tables), settings, models)
        except CallFailed:
            continue  # its questions failed where they were ranked, and are counted there
        asked = [q for q in questions if q.history == history and q.id in wanted and q.evidence]
        rows += [row for question in asked if (row := _row(work, memory, question))]
        evidence = {turn for question in asked for turn in question.evidence}
        said |= {turn.id: spoken_text(turn) for turn in histories[history].turns if turn.id in evidence}
    return pd.DataFrame(rows, columns=["question", "side", "turns", "evidence", *SLOTS]), said


def _row(work: Work, memory: TagGraphMemory, question: Question) -> dict[str, Any] | None:
    """A question with what is recalled for it; none if its tags cannot be had."""
    query = question.query()
    try:
        turns = [source.turn for source in memory.recall(query).provenance]
        tags = memory.tags_of(query)
    except CallFailed:
        return None
    of = side(work.params["benchmark"], question.id, question.history, question.type)
    return {
        "question": question.id,
        "side": of,
        "turns": turns,
        "evidence": question.evidence,
        **(tags or NO_TAGS),
    }


STAGE = Stage("five_ws", 1, make)
