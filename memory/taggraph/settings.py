"""Every setting of the systems over 5W notes, and the profiles that set them (TAGGRAPH, of which an abstract is known).

The abstract names the arms: localized graph configurations that traverse a common base graph; AdaptiveGraph, which adds
chronological edges and Personalized PageRank diffusion; BM25 over the same extracted notes (facts on GAAMA, section
14). It prints no constant. Each one below that is marked "open; ours" is a choice of this project; `sweep` lists what
else to try.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from memory.systems.keeping import RankingSettings

Slot = Literal["who", "what", "when", "where", "why"]
Normalisation = Literal["none", "casefold", "plural", "stem"]


class TagGraphSettings(RankingSettings):
    """Settings of all arms; the defaults are the profile `localized`."""

    forgets: ClassVar[Literal["by_policy", "by_use", "never"]] = "never"

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    session_order: Literal["file", "date"] = "date"
    """The order in which whoever feeds the memory gives it sessions: chronological edges follow it."""

    # Which notes, and how good they are
    slots: tuple[Slot, ...] = Field(("who", "what", "when", "where", "why"), min_length=1)
    """The slots whose tags take part, of question and notes."""
    drop: float = Field(0.0, ge=0, le=1)
    """Share of the notes' tags that are dropped: the axis of extraction quality."""
    corrupt: float = Field(0.0, ge=0, le=1)
    """Share of the tags left that are replaced by another value of the same slot."""
    quality_seed: int = Field(0, ge=0)
    """Which tags are dropped and corrupted; see `memory.taggraph.quality`."""

    # Vocabulary
    normalisation: Normalisation = "stem"
    """When two values are one tag: as written; regardless of case and punctuation; of the plural of each word; of
    each word's ending (Snowball). Each does what the one before it does, too (open; ours)."""
    least_overlap: float = Field(0.5, gt=0, le=1)
    """Share of a tag's words that a question must hold to match it; at 1 whole tags match alone (open; ours)."""
    across_slots: bool = True
    """Whether a question's tag also matches the same value in another slot (open; ours)."""
    rarity: Literal["tag", "words"] = "tag"
    """What a match is worth beside its share: by how few notes have the tag, or the sum over the matched words by how
    few notes have each, so that a match of two words outweighs one of one (open; ours)."""

    # The graph
    retrieval: Literal["graph", "bm25"] = "graph"
    """Whether notes are found over the graph, or by BM25 over the text of their tags."""
    slot_weights: dict[Slot, float] = Field(default_factory=dict)
    """What an edge between a note and a tag of a slot weighs; 1 where nothing is said (open; ours)."""
    chronological: Literal["none", "session", "history"] = "none"
    """Whether a note is joined to the next one: of its session, or of the whole history."""
    chronological_weight: float = Field(0.5, gt=0)
    """What a chronological edge weighs beside an edge to a tag (open; ours)."""

    # Traversal
    hops: int = Field(2, ge=1, le=4)
    """From the question's tags to their notes is the first; each further one leads over shared tags (open; ours)."""
    decay: float = Field(0.5, ge=0)
    """What a hop's scores count beside those of the one before (open; ours)."""
    frontier: int = Field(20, ge=1)
    """How many of a hop's best notes the next one starts from: what keeps the traversal local (open; ours)."""

    # Diffusion
    ppr_share: float = Field(0.0, ge=0, le=1)
    """Share of Personalized PageRank in a note's score beside traversal, both with 1 as their greatest value; 0 is
    traversal alone (open; ours)."""
    damping: float = Field(0.5, gt=0, lt=1)
    """Chance of following an edge rather than starting again at the question's tags (open; ours)."""
    tolerance: float = Field(1e-8, gt=0)


BUILDING_FIELDS = frozenset({"session_order"})
"""Settings that matter when a memory is built: notes are kept as they were extracted, and everything else is made of
them at recall, so that all arms share one build."""

_ADAPTIVE: Mapping[str, Any] = {"chronological": "session", "ppr_share": 0.5}
TAGGRAPH_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {},
    "localized": {},
    "chronological": {"chronological": "session"},
    "ppr": {"ppr_share": 0.5},
    "adaptive": _ADAPTIVE,
    "notes_bm25": {"retrieval": "bm25"},
    "improved": {**_ADAPTIVE, "rarity": "words", "ppr_share": 0.25},
}
"""`published` is `localized`; `adaptive` is AdaptiveGraph, the two additions together. `improved` was chosen on
questions for development alone. Turn MRR there, on LoCoMo and LongMemEval oracle: .420 and .611; `adaptive` .352 and
.528, BM25 over the notes .307 and .677, BM25 over raw turns .428 and .733."""

OPEN: Mapping[str, tuple[Any, ...]] = {
    "normalisation": ("none", "casefold", "plural", "stem"),
    "least_overlap": (0.34, 0.5, 1.0),
    "across_slots": (False, True),
    "rarity": ("tag", "words"),
    "hops": (1, 2, 3),
    "decay": (0.25, 0.5, 1.0),
    "frontier": (5, 20, 100),
    "chronological": ("session", "history"),
    "chronological_weight": (0.25, 0.5, 1.0),
    "ppr_share": (0.25, 0.5, 0.75, 1.0),
    "damping": (0.3, 0.5, 0.7, 0.85),
}
"""What is tried of each constant that the abstract leaves open."""


def sweep(profile: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Changes of one open constant at a time, each with a name such as `adaptive-damping-0_7`.

    Values that the profile has already, and constants of a part that it has switched off, are left out.
    """
    had = TagGraphSettings(**TAGGRAPH_PROFILES[profile])
    if had.retrieval == "bm25":
        return
    off = {"chronological", "chronological_weight"} if had.chronological == "none" else set()
    off |= set() if had.ppr_share else {"ppr_share", "damping"}
    for field, values in OPEN.items():
        for value in values:
            if field not in off and value != getattr(had, field):
                yield f"{profile}-{field}-{value}".replace(".", "_").lower(), {field: value}
