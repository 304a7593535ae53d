"""Asking in between: a memory hears a history session by session, and is asked each question when its time comes.

So no question sees a session that comes after it. The published harness of MemoryArena runs the construction pipeline
after each step (facts on GAAMA, section 12): a system that works turns in later finishes after each session. What a
builder was asked is bought; a run that was killed goes through the steps again and finds it.
"""

from __future__ import annotations

from typing import Any

from memory.conversation import History, Question
from memory.errors import CallFailed
from memory.protocol import Finishing, MemorySystem
from memory.systems import find
from memory.systems.nothing import NoMemory, NoSettings
from tasks.context import memory_models, open_memory
from tasks.extract import extracted, require_extracted
from tasks.stage import Work


class Listener:
    """A memory of the work's condition that hears a history's sessions as far as it is asked to, in the file's order.

    That order is the one of the steps, whatever dates say. Sessions that nothing is asked after are never heard.
    """

    def __init__(self, work: Work, history: History) -> None:
        self._work = work
        self._history = history
        self._memory = open_memory(work.params["condition"], work)
        self._extractions = extracted(work)
        self._heard = 0
        self._failed: CallFailed | None = None

    def after(self, sessions: int) -> MemorySystem:
        """The memory once it has heard so many sessions; where that is none, a memory of nothing, which asks nobody.

        Raises:
            CallFailed: If a call that builds it has failed, now or in an earlier session.
            ValueError: If it has heard more already.
        """
        if sessions < self._heard:
            raise ValueError(f"{self._history.id}: {self._heard} sessions were heard, more than {sessions}")
        if not sessions:
            return NoMemory(NoSettings(), memory_models(self._work))
        if self._failed is not None:
            raise self._failed
        try:
            self._hear(sessions)
        except CallFailed as failed:
            self._failed = failed
            raise
        return self._memory

    def _hear(self, sessions: int) -> None:
        new = self._history.sessions[self._heard : sessions]
        if find(self._work.params["condition"]["system"]).needs_extractions:
            require_extracted(self._work, History(self._history.id, new))
        for session in new:
            self._memory.remember(session, self._extractions)
            if isinstance(self._memory, Finishing):
                self._memory.finish()
        self._heard = sessions


def only_heard(row: dict[str, Any], question: Question, history: History) -> dict[str, Any]:
    """A row of `recalls`, failed if it names a turn that the memory has not heard when the question is asked."""
    if question.after is None or row["status"] != "ok":
        return row
    heard = {turn.id for session in history.sessions[: question.after] for turn in session.turns}
    unheard = [turn for turn in row["turns"] if turn not in heard]
    if not unheard:
        return row
    reason = f"the memory names turn {unheard[0]}, which it has not heard yet"
    return {"status": "failed", "reason": reason, "final": True}
