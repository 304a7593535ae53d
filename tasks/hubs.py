"""Stage `hubs`: GAAMA's graph beside its entity-centric twin: hubs, what diffusion leaves on them, what it gains."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

import pyarrow as pa

from memory.conversation import History, Question
from memory.errors import CallFailed
from memory.gaama.graph import ConceptGraph
from memory.gaama.retrieval import weigh
from memory.gaama.twin import entities_of, entity_twin, hubs, mass_on_hubs
from memory.models import Vectors
from memory.systems.gaama import Gaama
from results.tables import from_rows
from tasks.load import loaded
from tasks.memories import memories
from tasks.models.offline.chunker import clauses, phrases, words
from tasks.stage import Made, Stage, Work

WEIGHTS = (0.0, 0.1, 0.5, 1.0)
"""Weights of Personalized PageRank that are compared (facts on GAAMA, section 13)."""

_HUBS: dict[str, pa.DataType] = {
    "condition": pa.string(),
    "history": pa.string(),
    "graph": pa.string(),
    "items": pa.int64(),
    "mediators": pa.int64(),
    "degree_median": pa.float64(),
    "degree_p99": pa.float64(),
    "degree_max": pa.int64(),
    "top_share": pa.float64(),
}
HUBS = pa.schema(_HUBS)
_ROWS: dict[str, pa.DataType] = {
    "condition": pa.string(),
    "history": pa.string(),
    "graph": pa.string(),
    "question": pa.string(),
    "ppr_weight": pa.float64(),
    "evidence_recall": pa.float64(),
    "hub_mass": pa.float64(),
}
ROWS = pa.schema(_ROWS)


def make(work: Work) -> Made:
    """Compare the twins of a batch of histories; one whose memory could not be built has no rows."""
    histories, questions, _ = loaded(work)
    condition = work.params["condition"]["name"]
    sizes: list[dict[str, Any]] = []
    rows: list[dict[str, Any]] = []
    for name, open_one in memories(work):
        try:
            memory = open_one()
        except CallFailed:
            continue  # counted where its recalls fail
        if not isinstance(memory, Gaama):
            raise TypeError(f"{work.params['condition']['system']} has no graph of concepts")
        asked = [q for q in questions if q.history == name and q.evidence]
        for graph, twin in _twins(memory, histories[name]):
            which = {"condition": condition, "history": name, "graph": graph}
            sizes.append({**which, **asdict(hubs(twin))})
            rows += [{**which, **row} for row in _recalled(memory, twin, asked, work.params["words"])]
    return Made({"hubs": from_rows(sizes, HUBS), "hub_rows": from_rows(rows, ROWS)}, {"ok": len(rows)})


def embedded(work: Work) -> Made:
    """The part of `make` that is paid for: the entities are embedded, and that is all."""
    histories = loaded(work)[0]
    for name, open_one in memories(work):
        memory = open_one()
        if isinstance(memory, Gaama):
            _named(memory, histories[name])
    return Made({}, {})


def _twins(memory: Gaama, history: History) -> Iterator[tuple[str, ConceptGraph]]:
    yield "concepts", memory.graph
    mentioned, vectors = _named(memory, history)
    yield "entities", entity_twin(memory.graph, mentioned, vectors)


def _named(memory: Gaama, history: History) -> tuple[dict[str, list[str]], dict[str, Vectors]]:
    """What mentions each entity, and the vectors of those that have one."""
    speakers = {turn.speaker.lower(): turn.speaker for turn in history.turns}
    mentioned = entities_of(memory.graph, lambda text: _entities(text, speakers))
    names = list(mentioned)
    found = memory.models.embedder.embed(names)
    vectors = {name: found.vectors[row] for row, name in enumerate(names) if row not in found.failures}
    return mentioned, vectors


def _entities(text: str, speakers: dict[str, str]) -> Sequence[str]:
    """The people of the conversation that a text names, and its noun phrases without their names."""
    found: list[str] = []
    for clause in clauses(text):
        tokens = words(clause)
        found += [speakers[word] for word in _plain(tokens) if word in speakers]
        for phrase in phrases(clause, tokens):
            found.append(" ".join(word for word in _plain(words(phrase.text)) if word not in speakers))
    return found


def _plain(tokens: Sequence[Any]) -> list[str]:
    return [token.lower.removesuffix("'s") for token in tokens]


def _recalled(
    memory: Gaama, graph: ConceptGraph, asked: Sequence[Question], size: int
) -> Iterator[dict[str, Any]]:
    """For each question and weight the share of its evidence in a context of so many words, and the mass on hubs."""
    twin = memory.with_graph(graph)
    weighing = {weight: memory.settings.model_copy(update={"ppr_weight": weight}) for weight in WEIGHTS}
    for question in asked:
        try:
            searched = twin.searched(question.query())
        except CallFailed:
            continue  # counted where its recall fails
        for weight, settings in weighing.items():
            recall = twin.recalled(weigh(graph, settings, searched), size)
            found = set(recall.stands_on) & set(question.evidence)
            yield {
                "question": question.id,
                "ppr_weight": weight,
                "evidence_recall": len(found) / len(question.evidence),
                "hub_mass": mass_on_hubs(graph, searched.walked),
            }


STAGE = Stage("hubs", 1, make)
