"""Short ways to a bank of items that a test's replies are kept in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory.models import ChatRequest
from memory.protocol import Models, Nobody
from memory.reasoning.settings import REASONING_BANK_PROFILES, ReasoningBankSettings
from memory.systems.reasoning_bank import ReasoningBank
from tests.memory.fake_models import Answer, FakeByTask, FakeHashEmbedder

Script = Answer | Callable[[ChatRequest], Answer]


def item(content: Any, title: Any = "", description: Any = "", lines: Any = "") -> dict[str, Any]:
    return {"title": title, "description": description, "content": content, "lines": lines}


def items(*given: Any) -> dict[str, Any]:
    return {"items": list(given)}


def outcome(success: Any) -> dict[str, Any]:
    return {"why": "as the test says", "success": success}


def chat(extract: Script, judge: Script | None = None) -> FakeByTask:
    return FakeByTask(rb_judge=outcome(True) if judge is None else judge, rb_extract=extract)


def bank(
    given: FakeByTask, embedder: FakeHashEmbedder | None = None, profile: str = "published", **changes: Any
) -> ReasoningBank:
    settings = ReasoningBankSettings(**{**REASONING_BANK_PROFILES[profile], **changes})
    return ReasoningBank(settings, Models(Nobody(), embedder or FakeHashEmbedder(), given))
