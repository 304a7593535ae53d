"""Every switch of the memory graph, and the two profiles that set them.

`published` follows the reference code of the Selective Forgetting paper, quirks included; `improved` fixes
what facts, sections 21 and 22, list. The numbers in brackets are sections of the facts file.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Literal

from pydantic import ConfigDict, Field

from memory.dates import DateRule
from memory.forgetting.retention import RetentionSettings
from memory.packing import BudgetSettings
from memory.validation import Validation

MergeRule = Literal["old_wins", "new_wins", "higher_confidence_else_old", "last_by_time"]


class GraphSettings(BudgetSettings, RetentionSettings):
    """Settings of the memory graph; the defaults are the profile `improved`.

    `budget_tokens` takes lines of the subgraph, nodes by their score and each followed by its edges; `max_nodes` and
    `max_edges` bound the subgraph before.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    holds_vectors: ClassVar[bool] = True

    # What enters
    session_order: Literal["file", "date"] = "date"
    """The order in which whoever feeds the memory gives it sessions (1): the file's is not always that of
    time."""
    validation: Validation = "repair"
    """What is done with undefined labels and invalid edges (21.2), on top of what the extraction step did."""
    dates: DateRule = "improved"
    """How the phrase in `raw_date` becomes a date (4)."""
    self_loops: bool = False
    """Whether an edge may join a node to itself, also where merging brought its two ends together."""

    # When two nodes are one (6)
    title_key: Literal["title", "label_title"] = "label_title"
    """What the title index is keyed by; by title alone, labels overwrite one another's entries."""
    normalise_titles: bool = True
    """Whether titles match across Unicode forms, punctuation, inner blanks and plural, not only case."""
    dedup_threshold: float | None = Field(None, gt=0, le=1)
    """Cosine from which two descriptors are one entity; none is the embedder's calibrated value."""
    comparison: Literal["at_least", "above"] = "at_least"
    """Whether a similarity equal to a threshold passes it: the code says yes, the paper says above (21.8)."""
    dedup_within_label: bool = True
    """Whether only nodes of the same label merge by similarity."""
    dedup_within_turn: bool = True
    """Whether two nodes of one turn can be the same node."""

    # What a merge keeps (6, 21.6)
    merge: MergeRule = "last_by_time"
    """Whose attribute value stands when two differ."""
    keep_history: bool = True
    """Whether values that no longer stand are kept, with their time and source turn."""
    normalise_relationships: bool = True
    """Whether edges are the same across case, blanks and underscores in the relationship."""
    monotone_access: bool = True
    """Whether the time of last access never goes backwards."""

    # Retrieval (7)
    retrieval_floor: float | None = Field(None, ge=-1, le=1)
    """Cosine from which a node may be a root; none is the embedder's calibrated value."""
    nearest_without_roots: bool = True
    """Whether the nearest nodes are roots where none reaches the floor, so that a question is never left
    bare."""
    title_shortcut: Literal["off", "any_label", "same_label"] = "same_label"
    """Whether a node with the title of a query entity is a root with score 1."""
    person_demotion: bool = True
    """Whether Person nodes become roots only after all others: the user node is next to everything."""
    roots: int = Field(5, ge=1)
    hops: int = Field(2, ge=0)
    max_nodes: int = Field(15, ge=1)
    neighbours: Literal["insertion", "similarity"] = "similarity"
    """In which order a node's neighbours are visited: as edges were stored, or by similarity to the query."""
    edges: Literal["walked", "among_nodes"] = "among_nodes"
    """Which edges are shown: all that the search walked (a hub's leave the subgraph), or those between its
    nodes."""
    max_edges: int | None = Field(40, ge=0)
    """Cap on edges, best first by the scores of their ends; none shows all, in the order they were found."""
    touch_on_recall: bool = False
    """Whether recalling counts as an access; if so, the order of the questions matters."""

    # Context (8)
    show_dates: bool = True
    """Whether nodes, edges and former values show the date of the session they come from."""
    max_context_characters: int | None = Field(None, ge=1)
    """Where the context is cut; the paper's Experiment 2 cuts at 80,000."""

    # Search (6, 7)
    index: Literal["exact", "approximate"] = "exact"
    """How nodes near to a vector are found, for de-duplication and for roots. `approximate` looks at the 128 nearest of
    each (`memory.ann.BREADTH`), of any label, as HNSW finds them, and needs the extra `ann`; what it looks at is
    decided exactly. Exact is the default because it misses nothing and wins at the paper's size: at 27,021 nodes x
    768, on two cores, a turn of five new nodes is merged in 7.6 ms against 13.6 (3.7 against 14.4 where turns share a
    scan) and a vector is added in 0.004 ms against 1.2; only roots are found faster by the other, in 2.7 ms against
    6.5. At 120,000 a turn alone takes 34.6 ms against 20.6, sharing a scan still 13.2 against 20.2, roots 29.2 against
    4.1, and building 6 s against 264. On the vectors of a real run (24,892 x 384) the approximate search has 99.7 % of
    the exact ten nearest. Rows are held twice.
    The LLM-free scoring of forgotten graphs (`memory.forgetting`) always searches exactly."""

    # Removal (14, 22)
    clean_titles: bool = True
    """Whether removing a node removes its title; the reference code leaves it, and the dead id takes a
    root's place."""


RETRIEVAL_FIELDS = frozenset(
    {
        *("retrieval_floor", "nearest_without_roots", "title_shortcut", "person_demotion", "roots", "hops"),
        *("max_nodes", "neighbours", "edges", "max_edges", "touch_on_recall"),
        *("show_dates", "max_context_characters", "budget_tokens", "entry_tokens", "clean_titles"),
    }
)
"""The fields that change nothing of what merging builds: one graph serves all their values. (`comparison` and
`title_key` are of both; `clean_titles` is of removal.)"""
BUILDING_FIELDS = frozenset(GraphSettings.model_fields) - RETRIEVAL_FIELDS | {"clean_titles"}
"""The fields that decide what is built and, after the last session, forgotten: graphs alike in these are alike."""

GRAPH_PROFILES: Mapping[str, Mapping[str, Any]] = {
    "published": {
        "session_order": "file",
        "validation": "off",
        "dates": "published",
        "self_loops": True,
        "title_key": "title",
        "normalise_titles": False,
        "comparison": "at_least",
        "dedup_within_label": False,
        "dedup_within_turn": False,
        "merge": "new_wins",
        "keep_history": False,
        "normalise_relationships": False,
        "monotone_access": False,
        "nearest_without_roots": False,
        "title_shortcut": "any_label",
        "person_demotion": True,
        "neighbours": "insertion",
        "edges": "walked",
        "max_edges": None,
        "touch_on_recall": True,
        "show_dates": False,
        "clean_titles": False,
    },
    "improved": {},
}
