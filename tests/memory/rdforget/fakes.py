"""A chat model that curates and selects as a test wrote, and short ways to settings, claims and questions."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from memory.conversation import Query
from memory.models import ChatRequest
from memory.prompts.rd_curate import Asked
from memory.protocol import Models, Nobody
from memory.rdforget.curation import Claim
from memory.rdforget.materialise import Entry
from memory.rdforget.settings import RD_FORGET_PROFILES, RDForgetSettings
from memory.systems.rd_forget import RDForget
from tests.memory.fake_models import Answer, FakeByTask

NOTHING = {"active": [], "replaced": []}


class FakeCurator(FakeByTask):
    """Replies by task: with what a test wrote, or what it makes of the request. A selector chooses all, as shown."""

    def __init__(
        self,
        curate: Answer | Callable[[ChatRequest], Answer] = NOTHING,
        select: Answer | Callable[[ChatRequest], Answer] | None = None,
    ) -> None:
        super().__init__(rd_curate=curate, rd_select=select or (lambda request: {"ids": ids(request)}))


def ids(request: ChatRequest) -> list[str]:
    """The ids of the candidates that a selector is shown."""
    return [candidate["id"] for candidate in json.loads(request.inputs["candidates"])]


def line_ids(request: ChatRequest) -> list[str]:
    """The ids of the lines that a curator is shown."""
    return [id for id, _ in json.loads(request.inputs["lines"])]


def rd_settings(profile: str = "published", **changes: Any) -> RDForgetSettings:
    return RDForgetSettings(**{**RD_FORGET_PROFILES[profile], **changes})


def system(chat: FakeCurator, profile: str = "published", **changes: Any) -> RDForget:
    return RDForget(rd_settings(profile, **changes), Models(chat, Nobody()))


def ask(text: str, date: datetime | None = None, label: str | None = None) -> Query:
    return Query("q", "h", text, date, label=label)


def asked(text: str, label: str = "") -> Asked:
    return Asked(text, label=label)


def fact(statement: Any, slot: Any = "", source: Any = "", validity: Any = "") -> dict[str, Any]:
    return {"statement": statement, "slot": slot, "source": source, "validity": validity}


def now(statement: str, slot: str = "", *turns: str) -> Claim:
    return Claim(statement, slot, turns)


def then(statement: str, slot: str = "", *turns: str) -> Claim:
    return Claim(statement, slot, turns, replaced=True)


def told(entries: Sequence[Entry]) -> list[tuple[str, str, str]]:
    """Of each entry: its status, what it says, and what the entry says that replaced it."""
    said = {entry.id: entry.statement for entry in entries}
    return [(entry.status, entry.statement, said.get(entry.superseded_by, "")) for entry in entries]
