"""Stage `switches_budgets`: flat retrieval and the graph at equal hits, as the paper does, and at equal context tokens.

At equal hits flat shows its five nearest turns, and the graph all that it finds from five roots. At equal tokens the
budget is the only cap: both rank up to `WIDE` turns or nodes, and take, best first, what fits (`memory.packing`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from memory.conversation import History
from memory.errors import CallFailed
from memory.fitting import Piece, graph_pieces, turn_pieces
from memory.packing import fitted
from memory.profiles import GraphSettings
from memory.protocol import Models
from memory.retrieval import expand, find_roots
from memory.systems.flat import Flat, FlatSettings
from memory.systems.graph import GraphMemory
from results.answer_match import normalised, occurs
from results.switches import BUDGET_ROWS
from results.tables import from_rows
from tasks.context import stored_models
from tasks.extract import extracted, require_extracted
from tasks.load import loaded
from tasks.stage import Made, Stage, Work, count
from tasks.switches import Asked, built, failure, ready_to_ask, there
from tasks.switches_arms import WIDE

HITS = 5
"""Turns of flat, and roots of the graph, in both profiles."""
TOKENS = (250, 500, 1_000, 2_000)
Row = dict[str, Any]


def make(work: Work) -> Made:
    """Ask both systems under every budget, for a batch of histories."""
    histories, questions, _ = loaded(work)
    models, extractions = stored_models(work), extracted(work)
    rows: list[Row] = []
    for name in work.params["histories"]:
        history = histories[name]
        require_extracted(work, history)
        ready = {q.id: ready_to_ask(q, history, models) for q in questions if q.history == name}
        for profile, settings in work.params["bases"].items():
            flat = _flat(work.params["flat"][profile], history, models)
            graph = built(GraphSettings(**{**settings, "roots": HITS}), history, models, extractions)
            rows += [{"profile": profile, **row} for row in _rows(flat, graph, ready)]
    return Made({"budget_rows": from_rows(rows, BUDGET_ROWS)}, count(rows))


STAGE = Stage("switches_budgets", 1, make)


def _flat(settings: Mapping[str, Any], history: History, models: Models) -> Flat | CallFailed:
    """Flat retrieval that has heard a history, or why there is none."""
    memory = Flat(FlatSettings(**{**settings, "k": HITS, "ranked": WIDE}), models)
    try:
        for session in history.sessions:
            memory.remember(session, {})
    except CallFailed as failed:
        return failed
    return memory


def _rows(
    flat: Flat | CallFailed, graph: GraphMemory | CallFailed, ready: Mapping[str, Asked | CallFailed]
) -> Iterator[Row]:
    for question, asked in ready.items():
        for system in ("flat", "graph"):
            key = {"question": question, "system": system}
            try:
                needed = there(asked)
                pieces = (
                    _of_flat(there(flat), needed) if system == "flat" else _of_graph(there(graph), needed)
                )
            except CallFailed as failed:
                yield from ({**key, **budget, **failure(failed)} for budget in _budgets())
                continue
            for budget in _budgets():
                shown = pieces[budget["unit"]]
                costs = [piece.tokens for piece in shown]
                taken = fitted(shown, costs, budget["budget"]) if budget["unit"] == "tokens" else shown
                yield {**key, **budget, "status": "ok", **_figures(needed, taken)}


def _budgets() -> Iterator[Row]:
    yield {"unit": "hits", "budget": HITS}
    yield from ({"unit": "tokens", "budget": limit} for limit in TOKENS)


def _of_flat(memory: Flat, asked: Asked) -> dict[str, list[Piece]]:
    """What is shown of a question under a budget of hits, and what may be under one of tokens."""
    held = {each.turn.id: each for each in memory.turns}
    ranked = [source.turn for source in memory.recall(asked.question.query()).provenance]
    texts = memory.shown([held[turn] for turn in ranked])
    pieces = turn_pieces(list(zip(ranked, texts, strict=True)))
    return {"hits": pieces[:HITS], "tokens": pieces}


def _of_graph(memory: GraphMemory, asked: Asked) -> dict[str, list[Piece]]:
    """As `_of_flat`."""
    wide = memory.settings.model_copy(update={"max_nodes": WIDE, "max_edges": None})
    found = {}
    for unit, view in (("hits", memory), ("tokens", memory.asked_with(wide))):
        roots = find_roots(view.graph, asked.entities, asked.queries, view.floor)
        found[unit] = graph_pieces(view.graph, expand(view.graph, roots, asked.queries))
    return found


def _figures(asked: Asked, pieces: Sequence[Piece]) -> Row:
    said = frozenset[str]().union(*(piece.turns for piece in pieces))
    evidence = frozenset() if asked.question.abstention else frozenset(asked.question.evidence)
    text = normalised("\n".join(piece.text for piece in pieces)) if asked.forms else ""
    return {
        "evidence_recall": len(evidence & said) / len(evidence) if evidence else None,
        "answer_in_context": float(occurs(asked.forms, text)) if asked.forms else None,
        "context_tokens": sum(piece.tokens for piece in pieces),
    }
