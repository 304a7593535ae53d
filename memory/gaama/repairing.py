"""GAAMA's graph, open for repair (facts, section 7)."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable

from memory.errors import CallFailed
from memory.gaama.graph import ConceptGraph, EdgeType, Item, Kind, text_id
from memory.gaama.packing import rendered
from memory.gaama.retrieval import nearest, rank
from memory.gaama.settings import GaamaSettings
from memory.models import Embedder, Vectors
from memory.repair.protocol import Pack, Shown, ShownEdge
from memory.vectors import VectorIndex

_LITTLE = {
    "mode": "ppr",
    "reflection_items": 0,
    "skills": 0,
    "ppr_weight": 0.1,
    "similarity_weight": 1.0,
    "hops": 2,
}
"""How a repair recalls, whatever the memory's own settings are (7, step 1)."""
_CONCEPT_EDGES: tuple[EdgeType, ...] = ("ABOUT_CONCEPT", "HAS_CONCEPT")


def repaired_fact_id(text: str) -> str:
    """The id of an added fact. The code draws it at random; here a prompt that shows it must stay the same."""
    return "fact-gel-" + text_id(text).removeprefix("entity-")[:12]


def repaired_concept_id(label: str) -> str:
    """The code's id of an added concept: its label in lower case, with one underscore for each run of other signs."""
    slug = re.sub(r"[^a-z0-9]+", "_", label.lower()).strip("_")
    # A label without a Latin letter has no slug, and must not share its id with the next.
    return "concept-" + (slug or hashlib.sha256(label.encode("utf-8", "surrogatepass")).hexdigest()[:12])


class GaamaEditing:
    """The graph of a GAAMA memory as `memory.repair.protocol.GraphEditing`."""

    def __init__(
        self,
        graph: ConceptGraph,
        settings: GaamaSettings,
        embedder: Embedder,
        others: VectorIndex | None = None,
    ) -> None:
        self._graph = graph
        self._settings = settings
        self._embedder = embedder
        self._others = others

    def recall_little(self, text: str, *, facts: int, episodes: int) -> Pack:
        """See `GraphEditing`."""
        settings = self._settings.model_copy(update={**_LITTLE, "facts": facts, "episodes": episodes})
        found = rank(self._graph, settings, self._vector(text), self._others).chosen
        items = tuple(Shown(each.item.id, each.item.kind, each.item.text, each.score) for each in found)
        return Pack(items, rendered(found))

    def nearest(self, text: str, count: int) -> list[Shown]:
        """See `GraphEditing`."""
        found = nearest(self._graph, self._settings, self._vector(text), count, self._others)
        return [Shown(each.item.id, each.item.kind, each.item.text, each.score) for each in found]

    def concepts_beside(self, ids: Iterable[str]) -> list[Shown]:
        """See `GraphEditing`."""
        found = dict.fromkeys(edge.target for edge in self.concept_edges(ids))
        return [Shown(id, "concept", self._graph.items[id].text) for id in found]

    def concept_edges(self, ids: Iterable[str]) -> list[ShownEdge]:
        """See `GraphEditing`."""
        return [
            ShownEdge(id, type, concept)
            for id in dict.fromkeys(ids)
            for type in _CONCEPT_EDGES
            for concept in dict.fromkeys(self._graph.ends(type, id))
        ]

    def all_of(self, kind: str) -> list[Shown]:
        """See `GraphEditing`."""
        return [
            Shown(item.id, item.kind, item.text) for item in self._graph.items.values() if item.kind == kind
        ]

    def turns_of(self, id: str) -> tuple[str, ...]:
        """See `GraphEditing`."""
        return self._graph.turns_of(self._graph.items[id])

    def add_fact(self, text: str, belief: float, sources: Iterable[str]) -> str:
        """See `GraphEditing`."""
        id = self._add(repaired_fact_id(text), "fact", text, belief)
        for source in dict.fromkeys(sources):
            if source != id and source not in self._graph.ends("DERIVED_FROM", id):
                self._graph.join("DERIVED_FROM", id, source)
        return id

    def concept(self, label: str) -> str:
        """See `GraphEditing`; by which id a label is known is the setting `concept_ids`."""
        plain = label.strip().lower()
        id = text_id(plain) if self._settings.concept_ids == "one" else repaired_concept_id(plain)
        if id in self._graph and self._graph.items[id].kind != "concept":
            id = repaired_concept_id(plain)  # a fact that says no more than a label must not become one
        return id if id in self._graph else self._add(id, "concept", plain, 1.0)

    def join_concept(self, concept: str, ids: Iterable[str]) -> int:
        """See `GraphEditing`; what is neither fact nor episode is passed over."""
        new = 0
        for id in dict.fromkeys(ids):
            kind = self._graph.items[id].kind
            if kind in ("fact", "episode") and not self._graph.topology.has_edge(id, concept):
                self._graph.join("ABOUT_CONCEPT" if kind == "fact" else "HAS_CONCEPT", id, concept)
                new += 1
        return new

    def remove(self, id: str) -> None:
        """See `GraphEditing`."""
        self._graph.remove(id)

    def part(self, source: str, target: str) -> None:
        """See `GraphEditing`."""
        self._graph.part(source, target)

    def _add(self, id: str, kind: Kind, text: str, belief: float) -> str:
        item = Item(id, -1, kind, text, None, belief=belief, origin="repaired")
        return self._graph.add(item, self._vector(text)).id

    def _vector(self, text: str) -> Vectors:
        embedded = self._embedder.embed([text])
        if embedded.failures:
            raise CallFailed(f"a text has no vector: {embedded.failures[0]}", final=True)
        return self._graph.vectors.unit(embedded.vectors[0])
