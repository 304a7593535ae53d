"""What a curator finds in chunks of source lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from memory.errors import CallFailed
from memory.lines import Line, named, turns_of
from memory.models import ChatModel, ChatRequest
from memory.prompts import rd_curate
from memory.prompts.rd_curate import Asked, FactReply
from memory.rdforget.settings import RDForgetSettings


@dataclass(frozen=True, slots=True)
class Claim:
    """What a curator has found.

    Attributes:
        statement: Never blank.
        slot: Normalised; empty where a claim has none.
        turns: The turns that it stands on, in the order of the history; none where its source names no line.
        validity: When it holds, in words; may be empty.
        replaced: Whether the curator says that a newer fact has taken its place.
    """

    statement: str
    slot: str
    turns: tuple[str, ...] = ()
    validity: str = ""
    replaced: bool = False


def curation_request(chunk: Sequence[Line], asked: Asked | None, settings: RDForgetSettings) -> ChatRequest:
    """The request for a chunk; without a question if the settings hide it."""
    return rd_curate.request(
        [(line.id, line.text) for line in chunk],
        asked if settings.query_conditioned else None,
        closure=settings.closure,
        intent_aware=settings.intent_aware,
        max_tokens=settings.curation_tokens,
    )


def curated(
    chunks: Sequence[Sequence[Line]], asked: Asked | None, settings: RDForgetSettings, chat: ChatModel
) -> list[list[Claim] | None]:
    """The claims of each chunk, one call a chunk; none for a chunk whose replies stayed unusable.

    Raises:
        CallFailed: If a fault of transport keeps a reply back.
        CallRefused: If no further call may be made.
    """
    requests = [curation_request(chunk, asked, settings) for chunk in chunks]
    found: list[list[Claim] | None] = []
    for chunk, reply in zip(chunks, chat.ask_many(requests, rd_curate.read), strict=True):
        if isinstance(reply, CallFailed):
            if not reply.final:
                raise reply
            found.append(None)
            continue
        active = [_claim(fact, chunk, replaced=False) for fact in reply.value.active]
        replaced = [_claim(fact, chunk, replaced=True) for fact in reply.value.replaced]
        found.append([claim for claim in (*active, *replaced) if claim.statement])
    return found


def _claim(fact: FactReply, chunk: Sequence[Line], *, replaced: bool) -> Claim:
    return Claim(fact.statement, normal_slot(fact.slot), _turns(fact.source, chunk), fact.validity, replaced)


def normal_slot(slot: str) -> str:
    """A slot as it is compared: in lower case, without blanks around it and around its bars.

    It is a key and nothing else, so any number of bars will do; one of bars alone is none.
    """
    parts = [" ".join(part.split()).lower() for part in slot.split("|")]
    return "|".join(parts) if any(parts) else ""


def _turns(source: str, chunk: Sequence[Line]) -> tuple[str, ...]:
    """The turns of the lines that a source names; if it names none, that of the one line that it quotes.

    What stands in several lines, such as the name of who speaks, tells none of them apart.
    """
    lines = named(source, chunk)
    if not lines and source:
        quoted = source.casefold()
        quoting = [line for line in chunk if quoted in line.text.casefold()]
        lines = quoting if len(quoting) == 1 else []
    return turns_of(lines)
