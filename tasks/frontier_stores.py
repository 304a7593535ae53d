"""The stores that a frontier is measured on, frozen: one graph or one flat index, whole or with a namespace a history.

With namespaces a question draws on its own history alone, as if each person had a memory of their own; what is
forgotten is decided over all of them together.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from memory.conversation import Question
from memory.forgetting.candidates import Asked, Candidates, candidates
from memory.forgetting.frozen import FrozenGraph
from memory.forgetting.frozen_turns import FrozenTurns
from memory.forgetting.passes import states_of, states_of_turns
from memory.forgetting.ragged import Ints, Mask, Ragged
from memory.forgetting.states import Clock, States
from memory.graph import MemoryGraph
from memory.merge import descriptor
from memory.models import Embedder
from memory.systems.flat import Flat
from memory.systems.graph import GraphMemory
from memory.validation import QueryEntity
from tasks.context import open_embedder, open_memory
from tasks.entities import ENTITIES, entities_of
from tasks.ingest import GRAPH_TABLES, graph_from, graph_of, in_store_order
from tasks.load import loaded
from tasks.merge import merged
from tasks.prune import clock_at
from tasks.stage import Work


@dataclasses.dataclass(frozen=True)
class GraphStore:
    """Graphs under masks. Survival does not count nodes that stand on more than `widest` turns.

    The user's node stands on nearly every turn that a user says; with it, no evidence would ever be lost.
    """

    frozen: FrozenGraph
    states: States
    clock: Clock
    questions: Sequence[Question]
    asked: Sequence[Candidates]
    evidence: Ragged
    widest: int

    def measure(self, live: Mask) -> tuple[Mask, Ints]:
        """Whether each evidence turn survives, and its rank in what is recalled (0: not recalled)."""
        remaining = self.frozen.under(live)
        return remaining.survives(self.evidence.items, self.widest), remaining.all_ranks(
            self.asked, self.evidence
        )


def open_graphs(work: Work) -> GraphStore:
    """The persistent graph, or the graphs of single histories as namespaces of one store."""
    histories, questions, _ = loaded(work)
    if "graph" in work.inputs:
        memories = [graph_of(work, "graph")]
        namespace = dict.fromkeys(histories, 0)
    else:
        memories, namespace = _history_graphs(work)
    graphs = [memory.graph for memory in memories]
    frozen = FrozenGraph.of(*graphs)
    answerable = [question for question in questions if not question.abstention]
    places = [namespace[question.history] for question in answerable]
    asked = _asked(work, memories[0], answerable)
    found: list[Candidates | None] = [None] * len(answerable)
    for place, graph in enumerate(graphs):
        rows = [i for i, at in enumerate(places) if at == place]
        for i, each in zip(
            rows, candidates(frozen, graph, [asked[i] for i in rows], memories[0].floor, place), strict=True
        ):
            found[i] = each
    sessions = in_store_order(histories, work.params["order"])
    numbers = {turn.id: i for i, turn in enumerate(t for session in sessions for t in session.turns)}
    return GraphStore(
        frozen=frozen,
        states=_together(graphs, numbers),
        clock=clock_at([session.date for session in sessions], len(numbers), work.params["clock"]),
        questions=answerable,
        asked=[each for each in found if each is not None],
        evidence=frozen.evidence([question.evidence for question in answerable], places),
        widest=max(1, len(numbers) // 100),
    )


def _history_graphs(work: Work) -> tuple[list[GraphMemory], dict[str, int]]:
    histories, _, _ = loaded(work)
    held: dict[str, GraphMemory] = {}
    for name in work.inputs:
        if name.startswith("merge-"):
            tables = {table: work.read(name, table) for table in GRAPH_TABLES}
            for history in dict.fromkeys(tables["turns"]["history"].to_pylist()):
                held[str(history)] = graph_from(work, merged(work, str(history), tables))
    order = [name for name in histories if name in held]
    return [held[name] for name in order], {name: place for place, name in enumerate(order)}


@dataclasses.dataclass(frozen=True)
class FlatStore:
    """Flat turns under masks."""

    frozen: FrozenTurns
    states: States
    clock: Clock
    questions: Sequence[Question]
    evidence: Ragged

    def measure(self, live: Mask) -> tuple[Mask, Ints]:
        """Whether each evidence turn survives, and its rank in what is recalled (0: not recalled)."""
        return self.frozen.survives(live), self.frozen.ranks(live)


def open_flat(work: Work) -> FlatStore:
    """All turns in one flat index; with namespaces, a question is only shown its own history's."""
    histories, questions, _ = loaded(work)
    memory = open_memory(work.params["condition"], work)
    if not isinstance(memory, Flat):
        raise TypeError("only flat retrieval can be frozen as turns")
    sessions = in_store_order(histories, work.params["order"])
    for session in sessions:
        memory.remember(session, {})
    states, ids = states_of_turns(memory)
    answerable = [question for question in questions if not question.abstention]
    number = {turn: i for i, turn in enumerate(ids)}
    evidence = Ragged.of([[number[turn] for turn in question.evidence] for question in answerable])
    embedded = open_embedder(work).embed([question.text for question in answerable])
    place = {name: i for i, name in enumerate(histories)}
    apart: dict[str, Ints] = {}
    if work.params["store"].endswith("namespaces"):
        owners = [place[session.history] for session in sessions for _ in session.turns]
        apart["namespaces"] = np.array(owners, np.int64)
        apart["asked"] = np.array([place[question.history] for question in answerable], np.int64)
    ranked = max(memory.settings.k, memory.settings.ranked)
    frozen = FrozenTurns.of(states.vectors, embedded.vectors, evidence, ranked=ranked, **apart)
    clock = clock_at([session.date for session in sessions], len(ids), work.params["clock"])
    return FlatStore(frozen, states, clock, answerable, evidence)


def open_store(work: Work) -> GraphStore | FlatStore:
    """The store that the work names."""
    return open_graphs(work) if work.params["store"].startswith("graph") else open_flat(work)


def _asked(work: Work, memory: GraphMemory, questions: Sequence[Question]) -> list[Asked]:
    """Each question's entities with their vectors; a question that could not be read has none."""
    entities = entities_of(work.read("entities", "entities", ENTITIES))
    embedder = open_embedder(work)
    return [_with_vectors(memory, embedder, entities.get(question.id, ())) for question in questions]


def _with_vectors(memory: GraphMemory, embedder: Embedder, entities: tuple[QueryEntity, ...]) -> Asked:
    embedded = (
        embedder.embed([descriptor(e.label, e.title, e.content) for e in entities]) if entities else None
    )
    units = [
        memory.graph.vectors.unit(vector)
        for i, vector in enumerate(embedded.vectors if embedded else ())
        if embedded and i not in embedded.failures
    ]
    return Asked(entities, np.stack(units) if units else np.zeros((0, memory.graph.dimensions), np.float32))


def _together(graphs: Sequence[MemoryGraph], numbers: dict[str, int]) -> States:
    """The nodes of all graphs as one set of columns, with the turn counter of the whole store."""
    parts = []
    labels: dict[str, int] = {}
    first = 0
    for graph in graphs:
        states, ids = states_of(graph)
        whole = np.array([numbers[turn] for turn in graph.moments], np.int64)
        accessed = states.turns_at_last_access
        label = np.array([labels.setdefault(graph.node(id).label, len(labels)) for id in ids], np.int64)
        parts.append(
            dataclasses.replace(
                states,
                turns_at_creation=whole[states.turns_at_creation],
                turns_at_last_access=np.where(accessed < 0, -1, whole[np.maximum(accessed, 0)]),
                label=label,
                edges=states.edges + first,
            )
        )
        first += len(states)
    fields = [field.name for field in dataclasses.fields(States)]
    return States(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in fields})
