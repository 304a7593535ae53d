"""Short ways to a playbook that a test's replies are worked into."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memory.lines import Line
from memory.models import ChatRequest
from memory.playbook.settings import ACE_PROFILES, AceSettings
from memory.protocol import Models, Nobody
from memory.systems.ace import Ace
from tests.memory.fake_models import Answer, FakeByTask, FakeHashEmbedder

Script = Answer | Callable[[ChatRequest], Answer]
NOTHING_ADDED: dict[str, Any] = {"operations": []}


def lesson(text: Any, lines: Any = "") -> dict[str, Any]:
    return {"lesson": text, "lines": lines}


def reflection(*lessons: dict[str, Any], finished: Any = True, **tags: str) -> dict[str, Any]:
    """A reflection; tags by id, with `_` for `-`."""
    given = [{"id": id.replace("_", "-"), "tag": tag} for id, tag in tags.items()]
    return {"tags": given, "lessons": list(lessons), "finished": finished}


def add(content: Any, lessons: Any = "", section: Any = "Others") -> dict[str, Any]:
    return {"type": "ADD", "section": section, "content": content, "lessons": lessons}


def additions(*operations: Any) -> dict[str, Any]:
    return {"operations": list(operations)}


def chat(reflect: Script, curate: Script = NOTHING_ADDED, refine: Script | None = None) -> FakeByTask:
    return FakeByTask(ace_reflect=reflect, ace_refine=refine or reflect, ace_curate=curate)


def ace(
    given: FakeByTask, embedder: FakeHashEmbedder | None = None, profile: str = "published", **changes: Any
) -> Ace:
    settings = AceSettings(**{**ACE_PROFILES[profile], **changes})
    return Ace(settings, Models(Nobody(), embedder or FakeHashEmbedder(), given))


def lines(*texts: str) -> list[Line]:
    return [Line(f"L{place}", text, f"h#0.{place - 1}") for place, text in enumerate(texts, 1)]


def said(memory: Ace) -> list[str]:
    """What the bullets say, oldest first."""
    return [bullet.text for bullet in memory.playbook.bullets.values()]
