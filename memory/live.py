"""Algorithm 1 of the paper (appendix A.5): a memory beside a conversation that goes on, one turn a step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from memory.conversation import Query, Session, Turn
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.forgetting.maintenance import Maintenance, maintain
from memory.forgetting.passes import Pass
from memory.models import ChatModel
from memory.prompts.extraction import ExtractionPrompt, request, spoken_text
from memory.protocol import MemorySystem, Recall
from memory.validation import Validation, read_extraction


@dataclass(frozen=True, slots=True)
class Step:
    """What a step gave.

    Attributes:
        recall: The context for the turn, with its provenance; none if it could not be recalled.
        reason: Why something is missing: the turn's extraction, or the recall; empty if nothing is.
        forgotten: The forgetting pass that fell after the turn, if one was due.
    """

    recall: Recall | None
    reason: str
    forgotten: Pass | None


class LiveMemory:
    """A memory that hears a conversation turn by turn: extract, merge, recall, and forget if a pass is due.

    It is made of what studies are made of (the same requests, readers, merging, recall and passes), so that stepping
    through a history leaves the very memory that a study builds of it. Any memory system will do. One that keeps
    turns, as flat does, finds the turn itself first if it is remembered before it recalls.
    """

    def __init__(
        self,
        memory: MemorySystem,
        extractor: ChatModel,
        *,
        prompt: ExtractionPrompt = "role_aware",
        validation: Validation = "off",
        maintenance: Maintenance | None = None,
        recall_first: bool = False,
    ) -> None:
        """A live memory.

        Args:
            memory: Where turns are remembered.
            extractor: Extracts each turn; never asked for a system that needs no extractions.
            prompt: As `Study.extraction_prompt`.
            validation: As `Study.validation`.
            maintenance: When and what it forgets; none never forgets.
            recall_first: Recall before the turn is written, as the prose of appendix A.5 has it; Algorithm 1 writes
                first.
        """
        self.memory = memory
        self._extractor = extractor
        self._prompt: ExtractionPrompt = prompt
        self._validation: Validation = validation
        self._maintenance = maintenance
        self._recall_first = recall_first
        self._numbers: dict[str, int] = {}  # the turn counter when each turn was stored

    def step(self, turn: Turn, session: Session) -> Step:
        """Take in a turn, and bring up what the memory holds on it.

        Args:
            turn: What was said.
            session: The sitting that it belongs to: id, history and date. Its own turns are not looked at.

        Raises:
            CallFailed: After a fault of transport in extracting or embedding the turn; it is not remembered, and
                the step can be taken again.
            CallRefused: If no further call may be made.
        """
        extractions, reason = self._extracted(turn)
        recall, unrecalled = self._recalled(turn, session) if self._recall_first else (None, "")
        self.memory.remember(replace(session, turns=(turn,)), extractions)
        self._numbers.setdefault(turn.id, len(self._numbers))
        if not self._recall_first:
            recall, unrecalled = self._recalled(turn, session)
        forgotten = None
        if self._maintenance is not None:
            forgotten = maintain(self.memory, self._maintenance, session.date, self._numbers)
        return Step(recall, reason or unrecalled, forgotten)

    def _extracted(self, turn: Turn) -> tuple[Mapping[str, Extraction], str]:
        """The turn's extraction by its id, or none with the reason: a turn that stays unusable only counts as one."""
        text = spoken_text(turn)
        if not self.memory.needs_extractions or not text.strip():
            return {}, ""
        try:
            read, _ = self._extractor.ask(
                request(turn.speaker, text, self._prompt),
                lambda reply: read_extraction(reply, self._validation),
            ).value
        except CallFailed as failed:
            if not failed.final:
                raise
            return {}, f"extraction: {failed.reason}"
        return {turn.id: read}, ""

    def _recalled(self, turn: Turn, session: Session) -> tuple[Recall | None, str]:
        if not turn.text.strip():
            return None, "recall: the turn is blank"
        try:
            return self.memory.recall(Query(turn.id, session.history, turn.text, session.date)), ""
        except CallFailed as failed:
            return None, f"recall: {failed.reason}"
