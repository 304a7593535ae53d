"""From claims to memory entries: what is active, and what was superseded within its slot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from memory.rdforget.curation import Claim
from memory.rdforget.settings import RDForgetSettings

Status = Literal["active", "deprecated", "superseded"]
Chunks = Sequence[Sequence[Claim]]


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the memory.

    Attributes:
        id: `e` and its place, from 1.
        statement: What it says, with its validity.
        slot: What it gives a value for; empty for an entry that is in no slot.
        status: Whether it holds, is out of date, or was replaced.
        turns: The turns that it stands on, in the order of the history.
        superseded_by: The id of the active entry of its slot that replaced it; only a superseded entry has one.
    """

    id: str
    statement: str
    slot: str
    status: Status
    turns: tuple[str, ...]
    superseded_by: str = ""


@dataclass(frozen=True, slots=True)
class _Said:
    claim: Claim
    chunk: int


_Claims = dict[tuple[str, str], _Said]
"""By slot and statement."""


def materialised(chunks: Chunks, settings: RDForgetSettings) -> list[Entry]:
    """The entries of claims, given by chunk in the order of the history: active ones first, then older ones.

    The last active entry of a slot is the target of all replacements in it. A claim that was replaced is superseded by
    the target of its slot; where there is none it is left out. Where the curator has not seen the question it is
    deprecated instead: that memory grows chunk by chunk, and what is out of date may still be asked for.

    What the paper leaves open; ours: the same statement in the same slot is one entry, as the last chunk has it, and
    within one chunk active stands. So nothing is superseded by itself, and as targets are active there is neither a
    chain nor a cycle of replacements. A claim without a slot replaces nothing and is superseded by nothing.
    """
    active, older = _parted(chunks, settings)
    entries = [_entry(place, claim, "active") for place, claim in enumerate(active, 1)]
    targets = {entry.slot: entry.id for entry in entries if entry.slot}
    for claim in older:
        by = targets.get(claim.slot, "")
        status = _status(bool(by), settings)
        if status is not None:
            link = by if status == "superseded" else ""
            entries.append(_entry(len(entries) + 1, claim, status, link))
    return entries


def _entry(place: int, claim: Claim, status: Status, superseded_by: str = "") -> Entry:
    statement = f"{claim.statement} ({claim.validity})" if claim.validity else claim.statement
    return Entry(f"e{place}", statement, claim.slot, status, claim.turns, superseded_by)


def _status(has_target: bool, settings: RDForgetSettings) -> Status | None:
    """What becomes of an older claim; none: it is left out."""
    if not settings.slots:
        return "active"
    if not has_target and settings.query_conditioned:
        return None
    if not settings.forget:
        return "active"
    return "superseded" if has_target else "deprecated"


def _parted(chunks: Chunks, settings: RDForgetSettings) -> tuple[list[Claim], list[Claim]]:
    """The claims that are active and those that are older, each once, in the order of the chunks."""
    active = _distinct(chunks, settings, replaced=False)
    replaced = _distinct(chunks, settings, replaced=True)
    withdrawn = {key for key, said in active.items() if key in replaced and replaced[key].chunk > said.chunk}
    if settings.query_conditioned:  # what a later chunk withdraws with nothing in its place would be lost
        held = {slot for slot, _ in active.keys() - withdrawn if slot}
        withdrawn = {key for key in withdrawn if key[0] in held}
    holding = {key: said for key, said in active.items() if key not in withdrawn}
    overtaken = _overtaken(holding, settings)
    older = overtaken | {key: said for key, said in replaced.items() if key not in holding}
    return (
        [said.claim for key, said in holding.items() if key not in overtaken],
        [said.claim for said in older.values()],
    )


def _distinct(chunks: Chunks, settings: RDForgetSettings, *, replaced: bool) -> _Claims:
    found: _Claims = {}
    for number, chunk in enumerate(chunks):
        for claim in chunk:
            if claim.replaced == replaced:
                kept = claim if settings.slots else replace(claim, slot="")
                key = kept.slot, " ".join(kept.statement.split()).casefold()
                found.pop(key, None)  # it stands where it was said last
                found[key] = _Said(kept, number)
    return found


def _overtaken(holding: _Claims, settings: RDForgetSettings) -> _Claims:
    """The active claims in whose slot a later chunk has an active one, if the settings take that for an update."""
    if settings.across_chunks == "keep" or not settings.forget:
        return {}
    last = {slot: said.chunk for (slot, _), said in holding.items() if slot}
    return {key: said for key, said in holding.items() if said.chunk < last.get(key[0], 0)}
