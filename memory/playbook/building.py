"""From a chunk of lines to tags and new bullets: reflect, then curate (facts on GAAMA, section 14, ACE)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from memory.errors import CallFailed
from memory.lines import Line, named, turns_of
from memory.models import ChatModel, ChatRequest, Embedder, Vectors
from memory.playbook.bullets import Playbook, section_of
from memory.playbook.duplicates import Duplicates
from memory.playbook.settings import AceSettings
from memory.prompts import ace_curate, ace_reflect
from memory.prompts.ace_curate import OperationReply
from memory.prompts.ace_reflect import LessonReply, ReflectionReply, TagReply

_LESSON_ID = re.compile(r"\bK(\d{1,9})\b")

T = TypeVar("T")


@dataclass
class Tally:
    """What went another way than a reply asked for; the names are those of a recall's flags.

    Attributes:
        replies_failed: Calls of which there is no usable reply.
        tags_ignored: Tags of a bullet that does not exist, or of another kind.
        operations_ignored: Operations that are not ADD, or that add nothing.
        bullets_dropped: Bullets that did not fit into the playbook.
        bullets_merged: Bullets that were merged into a near duplicate.
    """

    replies_failed: int = 0
    tags_ignored: int = 0
    operations_ignored: int = 0
    bullets_dropped: int = 0
    bullets_merged: int = 0


class Builder:
    """Works chunks into a playbook, one after another: each is reflected on with what the former have left.

    A chunk costs one to `rounds` reflections and one curation. Where no reflection is usable, nothing is curated.
    """

    def __init__(
        self,
        playbook: Playbook,
        duplicates: Duplicates | None,
        settings: AceSettings,
        chat: ChatModel,
        embedder: Embedder,
    ) -> None:
        self.playbook = playbook
        self.duplicates = duplicates
        self.settings = settings
        self.chat = chat
        self.embedder = embedder
        self.tally = Tally()

    def work_in(self, lines: Sequence[Line]) -> None:
        """Tag the bullets that a chunk bears on, then add what it teaches.

        Raises:
            CallFailed: If a fault of transport keeps a reply or a vector back.
            CallRefused: If no further call may be made.
        """
        reflection = self._reflection(lines)
        if reflection is None:
            return
        self._tag(reflection.tags)
        self._add(
            self._operations(reflection.lessons), [named(each.lines, lines) for each in reflection.lessons]
        )

    def _reflection(self, lines: Sequence[Line]) -> ReflectionReply | None:
        """The last reflection, after as many rounds as it takes; none if the first is not usable.

        Rounds look over one trial, not several, so that only the last one's tags count (open; ours).
        """
        shown = [(line.id, line.text) for line in lines]
        found: ReflectionReply | None = None
        for _ in range(self.settings.rounds):
            request = ace_reflect.request(shown, self.playbook.rendered(), found)
            better = self._asked(request, ace_reflect.read)
            if better is None:
                break
            found = better
            if found.finished:
                break
        return found

    def _operations(self, lessons: Sequence[LessonReply]) -> list[OperationReply]:
        """What the curator would do; it is asked after every chunk, as in the release, also if there is no lesson."""
        shown = [(f"K{place}", each.lesson) for place, each in enumerate(lessons, 1)]
        request = ace_curate.request(self.playbook.rendered(), shown, self._left())
        return self._asked(request, ace_curate.read) or []

    def _asked(self, request: ChatRequest, read: Callable[[str], T]) -> T | None:
        """A reply, or none where replies stayed unusable: the playbook goes on without."""
        try:
            return self.chat.ask(request, read).value
        except CallFailed as failure:
            if not failure.final:
                raise
            self.tally.replies_failed += 1
            return None

    def _left(self) -> int:
        return max(0, self.settings.playbook_tokens - self.playbook.tokens)

    def _tag(self, tags: Sequence[TagReply]) -> None:
        """Count tags; a bullet that is tagged more than once has its last tag, as in the release."""
        for id, tag in {each.id: each.tag for each in tags}.items():
            self.tally.tags_ignored += not self.playbook.tag(id, tag.lower())

    def _add(self, operations: Sequence[OperationReply], sources: Sequence[Sequence[Line]]) -> None:
        """Apply the ADDs in their order, each if it fits into what is left; see `AceSettings.playbook_tokens`.

        Args:
            operations: As the curator wrote them.
            sources: The lines of each lesson.
        """
        adding = [each for each in operations if each.type.upper() == "ADD" and each.content]
        self.tally.operations_ignored += len(operations) - len(adding)
        left = self._left()
        for operation, vector in zip(adding, self._vectors(adding), strict=True):
            lines = [line for place in _places(operation.lessons, len(sources)) for line in sources[place]]
            left -= self._added(operation, turns_of(lines), vector, left)

    def _added(
        self, operation: OperationReply, turns: Sequence[str], vector: Vectors | None, left: int
    ) -> int:
        """Add a bullet, or merge it into its near duplicate, if so many tokens are enough; returns what it took."""
        draft = self.playbook.drafted(section_of(operation.section), operation.content, turns)
        twin = self.duplicates.of(vector) if self.duplicates and vector is not None else None
        took = draft.tokens - (self.playbook.bullets[twin].tokens if twin else 0)
        if took > left:
            self.tally.bullets_dropped += 1
            return 0
        if twin:
            self.playbook.merge(twin, draft)
            self.tally.bullets_merged += 1
        else:
            self.playbook.add(draft)
        if self.duplicates and vector is not None:
            self.duplicates.put(twin or draft.id, vector)
        return took

    def _vectors(self, adding: Sequence[OperationReply]) -> list[Vectors | None]:
        """A vector for each new bullet; none where near duplicates are not merged, or a text has none."""
        if self.duplicates is None or not adding:
            return [None] * len(adding)
        embedded = self.embedder.embed([each.content for each in adding])
        return [None if row in embedded.failures else embedded.vectors[row] for row in range(len(adding))]


def _places(names: str, count: int) -> list[int]:
    """The places, from 0, of the lessons that a model has named, each once; others are passed over."""
    numbers = dict.fromkeys(int(number) for number in _LESSON_ID.findall(names))
    return [number - 1 for number in numbers if 1 <= number <= count]
