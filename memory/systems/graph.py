"""`graph`: the graph memory of the Selective Forgetting paper; it forgets only where its settings name a policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
from pydantic import BaseModel

from memory.calibration import calibrated
from memory.conversation import Query, Session, Turn
from memory.extraction import Extraction
from memory.fitting import provenance_within, within
from memory.forgetting.closing import check_open, close_graph
from memory.graph import MemoryGraph, Moment
from memory.merge import ToMerge, descriptor, merge_turns, prepared
from memory.models import Embedder, Vectors
from memory.profiles import BUILDING_FIELDS, GRAPH_PROFILES, RETRIEVAL_FIELDS, GraphSettings
from memory.prompts import query_entities
from memory.protocol import Models, Recall, Size
from memory.retrieval import expand, find_roots
from memory.serialise import CUT, lines_on, serialise
from memory.tables import from_tables, to_tables
from memory.validation import QueryEntity, check_extraction, read_entities

NOTHING = Extraction()


def _thresholds(settings: GraphSettings, embedder: Embedder) -> tuple[float, float]:
    """The thresholds of de-duplication and retrieval: those that are set, else those of the embedder."""
    if settings.dedup_threshold is not None and settings.retrieval_floor is not None:
        return settings.dedup_threshold, settings.retrieval_floor
    known = calibrated(embedder.name)
    dedup = known.dedup if settings.dedup_threshold is None else settings.dedup_threshold
    return dedup, known.floor if settings.retrieval_floor is None else settings.retrieval_floor


class GraphMemory:
    """Turns become nodes and edges; a question becomes entities, roots and a subgraph."""

    Settings: ClassVar[type[BaseModel]] = GraphSettings
    profiles: ClassVar[Mapping[str, Mapping[str, Any]]] = GRAPH_PROFILES
    needs_extractions: ClassVar[bool] = True
    asks: ClassVar[frozenset[str]] = frozenset({"chat", "embedder"})
    sees_evidence: ClassVar[bool] = False
    built_by: ClassVar[frozenset[str]] = BUILDING_FIELDS

    def __init__(self, settings: GraphSettings, models: Models) -> None:
        self.settings = settings
        self.models = models
        self.graph = MemoryGraph(models.embedder.dimensions, settings)
        self.dedup, self.floor = _thresholds(settings, models.embedder)
        self.closed = False

    def texts(self, session: Session, extractions: Mapping[str, Extraction]) -> list[str]:
        """The descriptors of the session's nodes."""
        read = self._read(session, extractions)
        return [descriptor(n.label, n.title, n.content) for e in read for n in prepared(e)]

    def remember(self, session: Session, extractions: Mapping[str, Extraction]) -> None:
        """Merge the session's turns, one after another. A turn without an extraction only counts as a turn.

        Raises:
            CallRefused: If embedding may make no further call; the memory is unchanged.
            BadInput: If the memory has forgotten already.
        """
        check_open(self.settings, closed=self.closed)
        vectors = iter(self._embed(self.texts(session, extractions)))
        turns = [
            ToMerge(
                Moment(turn.id, session.id, session.date),
                extraction,
                [next(vectors) for _ in extraction.nodes],
            )
            for turn, extraction in zip(session.turns, self._read(session, extractions), strict=True)
        ]
        merge_turns(self.graph, turns, self.dedup)

    def finish(self) -> None:
        """Forget, if the settings name a policy; once."""
        if not self.closed:
            close_graph(self.graph, self.settings)
        self.closed = True

    def recall(self, query: Query) -> Recall:
        """The subgraph around the question's entities, or what of it the budget takes.

        Raises:
            CallFailed: If the question's entities could not be read.
        """
        entities = self.models.chat.ask(query_entities.request(query.text), read_entities).value
        vectors = self._embed([descriptor(e.label, e.title, e.content) for e in entities])
        return self.recall_entities(query, entities, vectors)

    def recall_entities(
        self, query: Query, entities: Sequence[QueryEntity], vectors: Sequence[Vectors | None]
    ) -> Recall:
        """The subgraph around entities that are known already, each with its vector."""
        queries = self.units(vectors)
        roots = find_roots(self.graph, entities, queries, self.floor)
        found = expand(self.graph, roots, queries)
        budget = self.settings.budget_tokens
        shown = found if budget is None else within(self.graph, found, budget, self.settings.entry_tokens)
        context = serialise(self.graph, shown)
        flags = {
            "no_entities": not entities,
            "no_roots": not found.nodes,
            "below_floor": bool(roots) and max(root.score for root in roots) < self.floor,
            "dead_root": len(roots) > sum(root.id in self.graph for root in roots),
            "entity_without_vector": len(queries) < len(entities),
            "nodes_without_vector": self.graph.unembedded > 0,
            "context_cut": context.endswith(CUT),
            "trimmed": len(shown.nodes) + len(shown.edges) < len(found.nodes) + len(found.edges),
        }
        sources = provenance_within(self.graph, found, shown)
        if self.settings.touch_on_recall:
            self.graph.touch([node.id for node in shown.nodes], query.date)
        raised = tuple(name for name, up in flags.items() if up)
        return Recall(context, sources, len(shown.nodes), len(shown.edges), raised)

    def units(self, vectors: Sequence[Vectors | None]) -> Vectors:
        """The vectors that are there at unit length, `(vectors, dimensions)`."""
        units = [self.graph.vectors.unit(vector) for vector in vectors if vector is not None]
        return np.stack(units) if units else np.zeros((0, self.graph.dimensions), np.float32)

    def asked_with(self, settings: GraphSettings) -> GraphMemory:
        """This memory under other settings of retrieval, over the same graph, which neither may change.

        Raises:
            ValueError: If the settings would build another graph.
        """
        differ = {
            name
            for name in GraphSettings.model_fields
            if getattr(settings, name) != getattr(self.settings, name)
        }
        if not differ <= RETRIEVAL_FIELDS:
            raise ValueError(f"{min(differ - RETRIEVAL_FIELDS)} changes what is built")
        other = copy(self)
        other.settings = settings
        other.graph = copy(self.graph)
        other.graph.settings = settings
        _, other.floor = _thresholds(settings, self.models.embedder)
        return other

    def standing_on(self, turn: Turn) -> list[str]:
        """The lines of the nodes and edges that stand on a turn."""
        return lines_on(self.graph, turn)

    def size(self) -> Size:
        """Nodes, edges, and the bytes of the graph's tables."""
        nbytes = sum(table.nbytes for table in self.tables().values())
        return Size(len(self.graph), self.graph.topology.number_of_edges(), nbytes)

    def tables(self) -> dict[str, pa.Table]:
        """The tables `nodes`, `edges`, `titles` and `turns`."""
        return to_tables(self.graph)

    @classmethod
    def from_tables(cls, tables: Mapping[str, pa.Table], settings: GraphSettings, models: Models) -> Self:
        """The memory of a graph's tables; where the settings name a policy, it has forgotten."""
        system = cls(settings, models)
        system.graph = from_tables(tables, settings)
        system.closed = bool(settings.retention)
        return system

    def _read(self, session: Session, extractions: Mapping[str, Extraction]) -> list[Extraction]:
        """The extraction of each turn, checked by the settings; one that `reject` refuses counts as none."""
        return [self._checked(extractions.get(turn.id, NOTHING)) for turn in session.turns]

    def _checked(self, extraction: Extraction) -> Extraction:
        try:
            return check_extraction(extraction, self.settings.validation)[0]
        except ValueError:
            return NOTHING

    def _embed(self, texts: Sequence[str]) -> list[Vectors | None]:
        if not texts:
            return []
        embedded = self.models.embedder.embed(texts)
        return [None if i in embedded.failures else vector for i, vector in enumerate(embedded.vectors)]
