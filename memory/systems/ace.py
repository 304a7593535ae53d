"""`ace`: a playbook of bullets with counters that grows session by session (facts on GAAMA, section 14, ACE)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session, Turn
from memory.extraction import Extraction
from memory.lines import chunked, source_lines
from memory.models import ChatRequest
from memory.packing import fitting
from memory.playbook import tables as stored_playbook
from memory.playbook.building import Builder
from memory.playbook.bullets import Playbook
from memory.playbook.duplicates import Duplicates
from memory.playbook.settings import ACE_PROFILES, BUILDING_FIELDS, AceSettings
from memory.prompts import ace_curate, ace_reflect
from memory.prompts.ace_reflect import ReflectionReply
from memory.protocol import Models, Recall, Size
from memory.provenance import sources
from memory.systems.turns import stored


class Ace:
    """A language model reflects on each session, tags the bullets that it bears on, and adds what it teaches.

    Nothing but the playbook is kept. A session costs one to `rounds` reflections and one curation for each chunk of
    its lines; a session that is handed in turn by turn is reflected on turn by turn. Recall asks nobody.
    """

    Settings: ClassVar[type[BaseModel]] = AceSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = ACE_PROFILES
    needs_extractions: ClassVar[bool] = False
    asks: ClassVar[frozenset[str]] = frozenset({"builder", "embedder"})
    """The embedder only where near duplicates are merged."""
    sees_evidence: ClassVar[bool] = False
    built_by: ClassVar[frozenset[str]] = BUILDING_FIELDS
    prompts: ClassVar[tuple[ChatRequest, ...]] = (
        ace_reflect.request((), ""),
        ace_reflect.request((), "", ReflectionReply()),
        ace_curate.request("", (), 0),
    )

    def __init__(self, settings: AceSettings, models: Models) -> None:
        self.settings = settings
        self.models = models
        self.playbook = Playbook()
        self.duplicates: Duplicates | None = None
        if settings.merge_from is not None:
            self.duplicates = Duplicates(models.embedder.dimensions, settings.merge_from)
        self.builder = self._new_builder()

    def _new_builder(self) -> Builder:
        models = self.models
        return Builder(self.playbook, self.duplicates, self.settings, models.builder, models.embedder)

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """None: what bullets a session will give is not known before."""
        return []

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Reflect on a session, chunk by chunk.

        Raises:
            CallFailed: If a fault of transport keeps a reply or a vector back; build the memory anew.
            CallRefused: If no further call may be made.
        """
        for chunk in chunked(source_lines(stored(session)), self.settings.chunk_tokens):
            self.builder.work_in(chunk)

    def recall(self, query: Query) -> Recall:
        """The playbook, or what the settings' budget takes of it, the same for every question.

        Flags: those of `memory.playbook.building.Tally`, and `trimmed` if bullets did not fit. Scores are the
        reciprocal rank of the bullet that a turn is first behind.
        """
        return self.recall_tokens(query, self.settings.budget_tokens)

    def recall_tokens(self, query: Query, tokens: int | None) -> Recall:
        """As `recall`, with bullets that cost at most so many tokens; none takes all.

        A bullet costs its line, counters included, and `entry_tokens`; see `memory.packing`.
        """
        ranked = self.playbook.ranked()
        taken = fitting([bullet.line for bullet in ranked], tokens, self.settings.entry_tokens)
        shown = [ranked[place] for place in taken]
        return Recall(
            context="\n".join(bullet.line for bullet in shown),
            provenance=sources((bullet.turns, 1 / rank) for rank, bullet in enumerate(shown, 1)),
            items=len(shown),
            flags=self._flags(trimmed=len(shown) < len(ranked)),
        )

    def _flags(self, *, trimmed: bool) -> tuple[str, ...]:
        counts: Sequence[tuple[str, int]] = [*asdict(self.builder.tally).items(), ("trimmed", trimmed)]
        return tuple(name for name, count in counts if count)

    def standing_on(self, turn: Turn) -> list[str]:
        """The bullets of which a turn is a source; see `Traceable`."""
        return [bullet.line for bullet in self.playbook.bullets.values() if turn.id in bullet.turns]

    def size(self) -> Size:
        """Bullets, and the bytes of the tables."""
        return Size(len(self.playbook.bullets), 0, sum(table.nbytes for table in self.tables().values()))

    def tables(self) -> dict[str, pa.Table]:
        """The tables `bullets` and `state`, and `vectors` where near duplicates are merged."""
        return stored_playbook.to_tables(self.playbook, self.builder.tally, self.duplicates)

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: AceSettings, models: Models) -> Self:
        """The memory of its tables.

        Raises:
            BadInput: If they do not fit one another.
        """
        system = cls(settings, models)
        system.playbook, tally = stored_playbook.from_tables(tables, system.duplicates)
        system.builder = system._new_builder()
        system.builder.tally = tally
        return system
