"""One question, typed by a person, to the memory of one history: a study's own stages, up to what is recalled.

Extractions, vectors and entities come through the gateway and the store, so that each is bought once, whether for a
study or for a question. The stages' files are of no further use and are removed again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from memory.conversation import Conversations, History, Question
from memory.errors import BadInput
from results.schemas import RECALLS
from tasks import embed, extract, load, merge, recall
from tasks.context import closed_models, exhausted, totals_now
from tasks.models.ledger import Totals
from tasks.plan import Artefacts, Plan
from tasks.runs import Run, write_run
from tasks.stage import Artefact, Stage, Work, perform
from tasks.study import Condition

_ASKED = "asked"


@dataclass(frozen=True, slots=True)
class Asked:
    """What a memory brings up for a question.

    Attributes:
        condition: Name of the memory's condition.
        history: What the memory has heard.
        recall: A row of the table `recalls`.
        calls: What was asked of models for it.
        exhausted: Which budget has refused a call, in words; empty if none has.
    """

    condition: str
    history: History
    recall: Mapping[str, Any]
    calls: Totals
    exhausted: str


class AskPlan(Plan):
    """Walks as far as what memories recall."""

    STAGES = tuple(step.STAGE for step in (load, extract, embed, merge, recall))

    def walk(self) -> Artefacts:
        """Carry out what comes before answers."""
        base = self._hear()
        batches = self._batches(base["load"])
        self._stage(recall.STAGE, self._recalls(base, batches, self._merges(base, batches)))
        return self.made


def ask(run: Run, condition: Condition, history: History, question: str, date: datetime | None) -> Asked:
    """Build the memory of a history, and recall for a question.

    Args:
        run: Says with which models and settings, and where the store lies; its folder is not touched.
        condition: Which of its memories.
        history: What is heard; no other history is.
        question: The question.
        date: When it is asked, for memories that look at it.

    Raises:
        BadInput: If the question is blank.
        CallRefused: If no further call may be made.
    """
    if not question.strip():
        raise BadInput("the question is blank; put it in quotes after the folder")
    asked = Question(_ASKED, history.id, _ASKED, question, "", reference_kind="none", date=date)
    conversations = Conversations(
        run.study.benchmark, run.variant, run.sha256, {history.id: history}, (asked,)
    )
    study = run.study.model_copy(
        update={"conditions": (condition,), "shared": "", "max_failed": 1.0, "explain": False}
    )
    asking = run.model_copy(update={"name": f"ask-{run.name}", "study": study})
    reading = Stage(load.STAGE.name, load.STAGE.version, lambda work: load.made(conversations))

    def execute(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
        return [perform(reading if stage.name == reading.name else stage, work) for work in works]

    with TemporaryDirectory(prefix="palimpsest-ask-") as name, closed_models():
        folder = Path(name).resolve()
        write_run(folder, asking)
        made = AskPlan(folder, asking, execute).walk()
        row = made.by_stage["recall"][0].read(folder, "recalls", RECALLS).to_pylist()[0]
        return Asked(condition.name, history, row, totals_now(), exhausted(asking))
