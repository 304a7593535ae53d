"""`rd_forget`: turns are kept, and what is used is curated, chosen and packed at the question (RD-Forget)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

import pyarrow as pa
from pydantic import BaseModel

from memory.conversation import Query, Session, Turn
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.forgetting.states import Mask
from memory.lines import Line, chunked, source_lines
from memory.models import ChatRequest
from memory.prompts import rd_curate, rd_select
from memory.prompts.rd_curate import Asked
from memory.protocol import Models, Recall, Size
from memory.provenance import sources
from memory.rdforget import tables as stored_claims
from memory.rdforget.curation import Claim, curated
from memory.rdforget.eligibility import eligible
from memory.rdforget.materialise import Entry, materialised
from memory.rdforget.packing import packed, rendered
from memory.rdforget.ranking import candidate, candidates, fallback, ranked
from memory.rdforget.settings import RD_FORGET_PROFILES, RDForgetSettings
from memory.systems.keeping import TurnStore

_ASKED = Asked("?")


class RDForget(TurnStore[RDForgetSettings]):
    """Storage is append-only; a language model curates it at the question, and another call chooses what is shown.

    Only a policy that its settings may name forgets in storage, and then what is left is curated.

    A question costs one call a chunk and one for the selection, or none where nothing is stored. Where the curator
    does not see the question (-QC), the chunks are curated once, and a question costs the selection alone.
    """

    Settings: ClassVar[type[BaseModel]] = RDForgetSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = RD_FORGET_PROFILES
    asks: ClassVar[frozenset[str]] = frozenset({"chat"})
    prompts: ClassVar[tuple[ChatRequest, ...]] = (
        rd_curate.request((), _ASKED, intent_aware=True),
        rd_curate.request((), _ASKED, closure=False),
        rd_curate.request((), None),
        rd_select.request((), _ASKED),
    )

    def __init__(self, settings: RDForgetSettings, models: Models) -> None:
        super().__init__(settings, models)
        self.curated: dict[str, list[Claim]] = {}
        """What a curator that has not seen a question found, by the hash of the chunk; see `memory.rdforget.tables`."""
        self._read: tuple[list[Line], list[list[Line]]] | None = None

    @property
    def reads_labels(self) -> bool:
        """Whether a query may bring its benchmark's label; see `memory.protocol.Labelled`."""
        return self.settings.intent == "labels"

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Keep the turns of a session.

        Raises:
            BadInput: If the memory has forgotten already.
        """
        super().remember(session, extractions)
        self._read = None

    def keep(self, kept: Mask) -> None:
        """Drop all turns but those of a mask, and what was curated of any: a claim may tell of what is forgotten."""
        super().keep(kept)
        self.curated = {}
        self._read = None

    def recall(self, query: Query) -> Recall:
        """What is curated, chosen and packed for a question, within the settings' budget.

        Flags: `archive_rescue` once for each entry shown that is not active; `chunk_failed` once for each chunk of
        which there is no usable reply; `lexical_fallback`, `selector_fallback`; `trimmed`, if a chosen entry did not
        fit. Scores are the reciprocal rank of the entry that a turn is first behind.

        Raises:
            CallFailed: If a fault of transport keeps a reply back.
            CallRefused: If no further call may be made.
        """
        return self.recall_tokens(query, self.settings.budget_tokens)

    def recall_tokens(self, query: Query, tokens: int) -> Recall:
        """As `recall`, with entries that cost at most so many tokens; the calls are the same for every budget."""
        date = query.date.date().isoformat() if query.date else ""
        asked = Asked(query.text, date, (query.label or "") if self.reads_labels else "")
        entries, flags = self._entries(asked)
        chosen, chosen_flags = self._chosen(entries, asked)
        shown = packed(chosen, tokens, self.settings.entry_tokens)
        flags += chosen_flags
        flags += ["archive_rescue"] * sum(entry.status != "active" for entry in shown)
        flags += ["trimmed"] * (len(shown) < len(chosen))
        ranked_turns = sources((entry.turns, 1 / rank) for rank, entry in enumerate(shown, 1))
        return Recall(rendered(shown), ranked_turns, len(shown), flags=tuple(flags))

    def _entries(self, asked: Asked) -> tuple[list[Entry], list[str]]:
        """The memory entries for a question, and flags."""
        lines, chunks = self._source()
        found = self._curated(chunks, asked)
        flags = ["chunk_failed"] * sum(claims is None for claims in found)
        entries = materialised([claims or [] for claims in found], self.settings)
        if entries or not lines:
            return entries, flags
        return fallback(lines, asked, self.settings.fallback_lines), [*flags, "lexical_fallback"]

    def _source(self) -> tuple[list[Line], list[list[Line]]]:
        """The lines of the history, and their chunks."""
        if self._read is None:
            lines = source_lines(self.turns)
            self._read = lines, chunked(lines, self.settings.chunk_tokens)
        return self._read

    def _curated(self, chunks: Sequence[Sequence[Line]], asked: Asked) -> list[list[Claim] | None]:
        """The claims of each chunk: for the question, or for any."""
        if self.settings.query_conditioned:
            return curated(chunks, asked, self.settings, self.models.chat)
        named = {_hash(chunk): chunk for chunk in chunks}
        new = {key: chunk for key, chunk in named.items() if key not in self.curated}
        found = curated(list(new.values()), None, self.settings, self.models.chat)
        self.curated |= {key: claims for key, claims in zip(new, found, strict=True) if claims is not None}
        return [self.curated.get(key) for key in named]

    def _chosen(self, entries: Sequence[Entry], asked: Asked) -> tuple[list[Entry], list[str]]:
        """The entries that the selector chose, in its order, and flags; if it chose none, all that it was shown."""
        order = [entry for entry, _ in ranked(eligible(entries, asked, self.settings), asked, self.settings)]
        shown = candidates(order, self.settings.candidate_tokens)
        if not shown:
            return [], []
        request = rd_select.request(
            list(map(candidate, shown)), asked, max_tokens=self.settings.selection_tokens
        )
        try:
            ids = self.models.chat.ask(request, rd_select.read).value
        except CallFailed as failure:
            if not failure.final:
                raise
            ids = []
        by_id = {entry.id: entry for entry in shown}
        chosen = [by_id[id] for id in ids if id in by_id]
        return (chosen, []) if chosen else (shown, ["selector_fallback"])

    def standing_on(self, turn: Turn) -> list[str]:
        """The source lines of a turn; see `Traceable`. What is shown of them depends on the question."""
        return [line.text for line in self._source()[0] if line.turn == turn.id]

    def size(self) -> Size:
        """Turns, the bytes of their texts, and those of what was curated for any question."""
        claims = stored_claims.to_table(self.curated).nbytes if self.curated else 0
        size = super().size()
        return Size(size.items, 0, size.bytes + claims)

    def tables(self) -> dict[str, pa.Table]:
        """The tables `turns` and `chunks`."""
        return {**super().tables(), "chunks": stored_claims.to_table(self.curated)}

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: RDForgetSettings, models: Models) -> Self:
        """The memory of its tables.

        Raises:
            BadInput: If they are of another form.
        """
        system = super().from_tables(tables, settings, models)
        system.curated = stored_claims.from_table(tables["chunks"])
        return system


def _hash(chunk: Sequence[Line]) -> str:
    digest = hashlib.sha256()
    for line in chunk:
        digest.update(f"{line.id} {line.turn} {line.text}\n".encode("utf-8", "surrogatepass"))
    return digest.hexdigest()
