"""GRAFT: what a question fails on is diagnosed, looked for, planned, verified and added (facts, section 7).

Edits are made as they pass, and questions are repaired one after another: what one adds, the next recalls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, TypeVar

from memory.errors import CallFailed
from memory.models import ChatModel, ChatRequest
from memory.prompts import graft as prompts
from memory.prompts import graft_replies as replies
from memory.prompts.graft_replies import Edit, Verification
from memory.repair.execution import Execution, outcome
from memory.repair.log import EditOutcome, Repair
from memory.repair.protocol import GraphEditing, Pack, Shown, ShownEdge
from memory.repair.settings import GraftSettings

T = TypeVar("T")
Answering = Callable[[str, str], str]
"""An answer to a question from a context."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question to repair the memory for.

    Attributes:
        id: Its id.
        history: Its history's id.
        text: The question.
        gold: The reference answer; none keeps it from the repair.
        reward: What the memory's answer was rewarded with, 0 to 1; needed with `gold`.

    Raises:
        ValueError: If there is a reference answer and no reward.
    """

    id: str
    history: str
    text: str
    gold: str | None = None
    reward: float | None = None

    def __post_init__(self) -> None:
        if self.gold is not None and self.reward is None:
            raise ValueError(f"question {self.id}: repair with a reference answer needs the reward before it")


@dataclass(frozen=True, slots=True)
class Exploration:
    """What the memory shows of a question.

    Attributes:
        first: What the question itself brings up.
        found: Each probe question with what it brings up.
        concepts: The concepts beside what the probes bring up.
        edges: How they are joined.
    """

    first: Pack
    found: tuple[tuple[str, Pack], ...] = ()
    concepts: tuple[Shown, ...] = ()
    edges: tuple[ShownEdge, ...] = ()

    @property
    def items(self) -> dict[str, Shown]:
        """All that was brought up, by id."""
        packs = (self.first, *(pack for _, pack in self.found))
        return {item.id: item for pack in packs for item in pack.items}


class Graft:
    """Repairs one memory, question by question."""

    prompts: ClassVar[tuple[ChatRequest, ...]] = (
        prompts.diagnose("", "", ()),
        prompts.probe("", "", (), None),
        prompts.plan("", "", (), (), (), None),
        prompts.verify("", "", (), ()),
    )

    def __init__(
        self, memory: GraphEditing, settings: GraftSettings, chat: ChatModel, answer: Answering
    ) -> None:
        """Take the graph, and who answers: `answer(question, context)` as in the evaluation."""
        self.memory = memory
        self.settings = settings
        self._chat = chat
        self.answer = answer
        self._unusable: list[str] = []

    def repair(self, asked: Asked) -> Repair:
        """Repair the memory for a question, if it needs it.

        Raises:
            CallFailed: If a fault of transport keeps a reply or a vector back; what was added for earlier questions
                and this one stays in the graph, so take it anew from its tables.
            CallRefused: If no further call may be made.
        """
        self._unusable = []
        done = self._repaired(asked)
        return replace(done, unusable=tuple(self._unusable))

    def _repaired(self, asked: Asked) -> Repair:
        repair = Repair(asked.id, asked.history, asked.gold is not None, "sufficient", asked.reward)
        if asked.gold is not None and asked.reward is not None and asked.reward >= self.settings.threshold:
            return repair
        try:
            pack = self.recalled(asked.text)
            answer = self.answer(asked.text, pack.context)
        except CallFailed as failure:
            if not failure.final:
                raise
            return replace(repair, state="failed", reason=failure.reason)
        if asked.gold is None:
            completeness = self._diagnosed(asked, answer, pack)
            repair = replace(repair, completeness=completeness)
            if completeness >= self.settings.threshold:
                return repair
        explored = self.explored(pack, self._probes(asked, answer, pack))
        repair = replace(repair, probes=tuple(probe for probe, _ in explored.found))
        if not explored.found:
            return replace(repair, state="no_probes")
        planned = self._planned(asked, answer, explored)
        if not planned:
            return replace(repair, state="no_plan")
        edits = self.offer(asked.text, answer, explored, planned[: self.settings.planned_edits])
        changed = any(edit.fate == "executed" for edit in edits)
        return replace(
            repair, state="repaired" if changed else "unchanged", edits=edits, written=len(planned)
        )

    def explored(self, first: Pack, probes: Sequence[str]) -> Exploration:
        """Follow probe questions without asking a model; a probe that has no vector is passed over."""
        found = []
        for probe in probes:
            try:
                found.append((probe, self.recalled(probe)))
            except CallFailed as failure:
                if not failure.final:
                    raise
                self._unusable.append("probe_vector")
        ids = list(dict.fromkeys(item.id for _, pack in found for item in pack.items))
        concepts, edges = self.memory.concepts_beside(ids), self.memory.concept_edges(ids)
        return Exploration(first, tuple(found), tuple(concepts), tuple(edges))

    def offer(
        self, question: str, answer: str, explored: Exploration, edits: Sequence[Edit]
    ) -> tuple[EditOutcome, ...]:
        """Verify edits and make those that pass.

        Raises:
            CallFailed: As `repair`.
            CallRefused: As `repair`.
        """
        shown = explored.items
        request = prompts.verify(question, answer, list(shown.values()), edits)
        verified = self._asked(request, replies.read_verification, Verification(frozenset(), {}))
        passed = verified.passed
        if passed is None:
            every = self.settings.unlisted_passed == "keeps_all"
            passed = frozenset(range(1, len(edits) + 1)) if every else frozenset()
        execution = Execution(self.memory, self.settings, shown)
        return tuple(
            execution.make(edit)
            if number in passed
            else outcome(edit, shown, "refused", verified.reasons.get(number, "did not pass"))
            for number, edit in enumerate(edits, start=1)
        )

    def recalled(self, text: str) -> Pack:
        """What the memory brings up for a text within the small budget.

        Raises:
            CallFailed: If the text has no vector.
        """
        return self.memory.recall_little(
            text, facts=self.settings.recalled_facts, episodes=self.settings.recalled_episodes
        )

    def _diagnosed(self, asked: Asked, answer: str, pack: Pack) -> float:
        return self._asked(prompts.diagnose(asked.text, answer, pack.items), replies.read_diagnosis, 0.0)

    def _probes(self, asked: Asked, answer: str, pack: Pack) -> list[str]:
        request = prompts.probe(asked.text, answer, pack.items, asked.gold)
        return self._asked(request, replies.read_probes, [])[: self.settings.probes]

    def _planned(self, asked: Asked, answer: str, explored: Exploration) -> list[Edit]:
        found = [(probe, pack.items) for probe, pack in explored.found]
        request = prompts.plan(asked.text, answer, found, explored.concepts, explored.edges, asked.gold)
        return self._asked(request, replies.read_plan, [])

    def _asked(self, request: ChatRequest, read: Callable[[str], Any], otherwise: T) -> T:
        """What a reply says; where replies stayed unusable, what the code takes then (facts, section 3)."""
        try:
            value: T = self._chat.ask(request, read).value
        except CallFailed as failure:
            if not failure.final:
                raise
            self._unusable.append(request.task.removeprefix("graft_"))
            return otherwise
        return value
