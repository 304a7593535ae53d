"""Edits that passed their verification, made in the graph or skipped with a reason (facts, section 7, step 7)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memory.errors import CallFailed
from memory.prompts.graft_replies import Edit
from memory.repair.log import EditOutcome, Fate
from memory.repair.protocol import GraphEditing, Shown
from memory.repair.settings import GraftSettings

ABSENCE = (
    *(
        f"not {state}"
        for state in ("specified", "mentioned", "clear", "explicit", "recorded", "available", "discussed")
    ),
    *("unknown", "may include", "no information"),
    *("cannot determine", "cannot be determined", "unable to determine"),
    *(f"{start} {verb}" for start in ("does not", "doesn't") for verb in ("mention", "specify")),
)
"""What a fact must not contain: it would report that something is absent or unsure."""
NEIGHBOURS = 5
"""How many of the nearest items an edit is compared with."""
LABELS = 10
"""How many of the labels that a fact names are read."""
_LEAST_BELIEF = 0.1


class _Skipped(Exception):
    """Why an edit is not made."""


class Execution:
    """The edits of one question, as far as its caps allow."""

    def __init__(self, memory: GraphEditing, settings: GraftSettings, shown: Mapping[str, Shown]) -> None:
        """Take what was shown to whoever planned the edits, by id: other ids are passed over."""
        self._memory = memory
        self._settings = settings
        self._shown = shown
        self._left = {"fact": settings.facts, "concept": settings.concepts}

    def make(self, edit: Edit) -> EditOutcome:
        """Make an edit.

        Raises:
            CallFailed: If a fault of transport keeps a vector back.
        """
        try:
            if not self._left[edit.kind]:
                raise _Skipped("over the cap")
            if not edit.text:
                raise _Skipped("no text")
            item = self._fact(edit) if edit.kind == "fact" else self._concept(edit)
        except _Skipped as why:
            return outcome(edit, self._shown, "skipped", str(why))
        except CallFailed as failure:
            if not failure.final:
                raise
            return outcome(edit, self._shown, "skipped", failure.reason)
        self._left[edit.kind] -= 1
        return outcome(edit, self._shown, "executed", item=item)

    def _fact(self, edit: Edit) -> str:
        if phrase := reports_absence(edit.text, bare_does_not=self._settings.bare_does_not):
            raise _Skipped(f"reports absence: {phrase}")
        sources = known_ids(edit, self._shown)
        if self._settings.sources == "episodes":
            sources = [id for id in sources if self._shown[id].kind == "episode"]
            if not sources:
                raise _Skipped("stands on no episode")
        if near := self._duplicate(edit.text, self._settings.duplicates_of):
            raise _Skipped(f"as good as stored: {near.id}")
        item = self._memory.add_fact(edit.text, self._belief(edit.belief), sources)
        for label in edit.concepts[:LABELS]:
            if concept := self._concept_of(label):
                self._memory.join_concept(concept, [item])
        return item

    def _concept(self, edit: Edit) -> str:
        ids = [id for id in known_ids(edit, self._shown) if self._shown[id].kind in ("fact", "episode")]
        if not ids:
            raise _Skipped("joined to nothing")
        near = self._duplicate(edit.text, ("concept",))
        if near is not None and self._settings.near_concept == "rejected":
            raise _Skipped(f"as good as stored: {near.id}")
        concept = near.id if near is not None else self._memory.concept(edit.text)
        if not self._memory.join_concept(concept, ids):
            raise _Skipped("all joined already")
        return concept

    def _concept_of(self, label: str) -> str | None:
        """The concept that a fact names, which the code makes unless its id is stored; none if it has no vector."""
        try:
            if self._settings.near_concept == "joined" and (near := self._duplicate(label, ("concept",))):
                return near.id
            return self._memory.concept(label)
        except CallFailed as failure:
            if not failure.final:
                raise
            return None

    def _duplicate(self, text: str, kinds: Sequence[str]) -> Shown | None:
        """The most similar item of some kinds among the nearest of all, if it is as good as the same."""
        for near in self._memory.nearest(text, NEIGHBOURS):
            if near.kind in kinds and near.score >= self._settings.duplicate_similarity:
                return near
        return None

    def _belief(self, given: float | None) -> float:
        cap = self._settings.belief_cap
        return cap if given is None else min(cap, max(_LEAST_BELIEF, given))


def reports_absence(text: str, *, bare_does_not: bool) -> str | None:
    """The first phrase in a text that says that something is absent or unsure; none if it says neither."""
    plain = " ".join(text.lower().replace("’", "'").split())
    phrases = (*ABSENCE, "does not") if bare_does_not else ABSENCE
    return next((phrase for phrase in phrases if phrase in plain), None)


def known_ids(edit: Edit, shown: Mapping[str, Shown]) -> list[str]:
    """The ids that an edit names and that were shown."""
    return [id for id in edit.ids if id in shown]


def outcome(
    edit: Edit, shown: Mapping[str, Shown], fate: Fate, reason: str | None = None, item: str | None = None
) -> EditOutcome:
    """What became of an edit, for the log."""
    ids = tuple(known_ids(edit, shown))
    return EditOutcome(edit.kind, edit.text, ids, edit.concepts, fate, reason, item)
