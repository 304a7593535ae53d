"""The memory systems, by name: the project's own, and those that other projects add.

Another project adds one with an entry point in the group `palimpsest.systems`: `name = "module:Class"`. It is
imported when it is asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from importlib import import_module
from importlib.metadata import entry_points

from memory.errors import BadInput
from memory.protocol import MemorySystem

GROUP = "palimpsest.systems"
SYSTEMS: Mapping[str, str] = {
    "none": "memory.systems.nothing:NoMemory",
    "oracle": "memory.systems.oracle:Oracle",
    "full_context": "memory.systems.full_context:FullContext",
    "flat": "memory.systems.flat:Flat",
    "bm25": "memory.systems.bm25:BM25",
    "fusion": "memory.systems.fusion:Fusion",
    "openclaw": "memory.systems.openclaw:OpenClaw",
    "graph": "memory.systems.graph:GraphMemory",
    "gaama": "memory.systems.gaama:Gaama",
    "rd_forget": "memory.systems.rd_forget:RDForget",
    "ace": "memory.systems.ace:Ace",
    "reasoning_bank": "memory.systems.reasoning_bank:ReasoningBank",
    "gam": "memory.systems.gam:Gam",
    "hipporag": "memory.systems.hipporag:HippoRAG",
    "taggraph": "memory.systems.taggraph:TagGraphMemory",
    "palimpsest": "memory.systems.palimpsest:Palimpsest",
}
"""The project's own systems: where each is defined."""


def names() -> tuple[str, ...]:
    """All systems that can be found, the project's own first."""
    others = sorted(point.name for point in entry_points(group=GROUP) if point.name not in SYSTEMS)
    return (*SYSTEMS, *others)


def profiles() -> tuple[str, ...]:
    """The profiles that any system has; one that cannot be imported has none."""
    found: dict[str, None] = {}
    for name in names():
        with suppress(BadInput):
            found |= dict.fromkeys(find(name).profiles)
    return tuple(found)


def find(name: str) -> type[MemorySystem]:
    """The class of a memory system. A name of the project's own cannot be taken over.

    Raises:
        BadInput: If there is none of that name, or its project cannot be imported.
    """
    place = SYSTEMS.get(name)
    if place is None:
        place = next((point.value for point in entry_points(group=GROUP) if point.name == name), None)
    if place is None:
        raise BadInput(f"no memory system is named {name}; there are: {', '.join(names())}")
    module, _, attribute = place.partition(":")
    try:
        found: type[MemorySystem] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise BadInput(f"memory system {name} ({place}) cannot be imported: {error}") from error
    return found
