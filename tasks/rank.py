"""Stage `rank`: where a memory ranks the evidence of each question; nothing is answered and nothing judged."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from statistics import fmean
from typing import Any

import pyarrow as pa

from memory.conversation import History
from memory.errors import CallFailed
from memory.protocol import MemorySystem, Models
from memory.systems import find
from memory.systems.turns import StoredTurn, stored
from results.answer_match import normalised, occurs, wanted
from results.ranking import RANKS, ranked_figures
from results.retrieval_metrics import session_id
from results.split import side
from results.tables import from_rows
from tasks.context import memory_models
from tasks.kept_vectors import kept_vectors
from tasks.load import loaded
from tasks.merge import heard, merged
from tasks.ranking_stores import Asked, Store, cut, together, whole
from tasks.stage import Made, Stage, Work, count, milliseconds

_SEARCHED = 20_000
"""Turns of a store up to which each is looked at for the reference answer: in one store of all too many say it."""


def make(work: Work) -> Made:
    """Ask the questions of a work of its stores, each memory made, asked and dropped before the next."""
    models = memory_models(work)
    if "embedder" in work.params["models"]:
        models = replace(models, embedder=kept_vectors(work, models.embedder))
    tables = (
        {name: work.read("merge", name) for name in work.inputs["merge"].files}
        if "merge" in work.inputs
        else {}
    )
    rows: list[dict[str, Any]] = []
    for store in _stores(work):
        rows += _rows(work, store, models, tables)
    return Made({"ranks": from_rows(rows, RANKS)}, count(rows))


def _stores(work: Work) -> Iterator[Store]:
    """The stores that the work names, with its questions."""
    histories, questions, _ = loaded(work)
    wanted = frozenset(work.params["questions"])
    asked = [question for question in questions if question.id in wanted]
    if work.params["sizes"]:
        yield from cut(histories, asked, work.params["sizes"], work.params["seed"])
    elif work.params["store"] == "together":
        yield together(histories, asked)
    else:
        yield from whole(histories, asked)


def _rows(work: Work, store: Store, models: Models, tables: dict[str, pa.Table]) -> Iterator[dict[str, Any]]:
    """A row a question of one store."""
    params = work.params
    about = {
        "condition": params["condition"]["name"],
        "store": params["store"],
        "size": store.size,
        "turns": sum(len(session.turns) for session in store.history.sessions),
        "sessions": len(store.history.sessions),
    }
    held = {turn.turn.id: turn for session in store.history.sessions for turn in stored(session)}
    ages = _Ages(store.history)
    start = time.perf_counter()
    try:
        memory = _opened(work, store, models, tables)
        # What is made at the first recall, such as an index, is no part of the recalls that are timed.
        memory.recall(store.asked[0].question.query())
    except CallFailed as failed:
        failure = {"status": "failed", "reason": f"memory: {failed.reason}", "final": failed.final}
        yield from ({**about, **_of(asked, ages, params["benchmark"]), **failure} for asked in store.asked)
        return
    about |= {"build_ms": milliseconds(start), "memory_bytes": memory.size().bytes}
    texts = {} if len(held) > _SEARCHED else {id: normalised(turn.turn.text) for id, turn in held.items()}
    for asked in store.asked:
        forms = wanted(asked.question.reference)
        saying = {id for id, text in texts.items() if occurs(forms, text)}
        yield {**about, **_of(asked, ages, params["benchmark"]), **_found(memory, asked, held, saying)}


def _opened(work: Work, store: Store, models: Models, tables: dict[str, pa.Table]) -> MemorySystem:
    """The memory of a store: as stage `merge` built it, or made here.

    Raises:
        CallFailed: If it could not be built.
    """
    if not tables:
        return heard(work, store.history, models)
    condition = work.params["condition"]
    system = find(condition["system"])
    mine = merged(work, store.history.id, tables)
    return system.from_tables(mine, system.Settings(**condition["settings"]), models)


def _of(asked: Asked, ages: _Ages, benchmark: str) -> dict[str, Any]:
    """The columns that follow from the question and where its evidence stands."""
    question = asked.question
    return {
        "question": question.id,
        "history": question.history,
        "type": question.type,
        "side": side(benchmark, question.id, question.history, question.type),
        **ages.of(asked),
    }


class _Ages:
    """How old evidence is in a store, as the mean over a question's evidence sessions."""

    def __init__(self, history: History) -> None:
        dated = all(session.date is not None for session in history.sessions)
        ordered = history.by_date() if dated else history.sessions
        names = [session_id(session.history, session.position) for session in ordered]
        self._places = {name: place for place, name in enumerate(names)}
        self._dates = {name: session.date for name, session in zip(names, ordered, strict=True)}

    def of(self, asked: Asked) -> dict[str, float]:
        """In sessions that came after it, and in days before the question where both have dates."""
        last = len(self._places) - 1
        ages = {"age_sessions": fmean(last - self._places[name] for name in asked.sessions)}
        now, dates = asked.question.date, [self._dates[name] for name in asked.sessions]
        days = [(now - date).total_seconds() / 86_400 for date in dates if date is not None] if now else []
        return {**ages, "age_days": fmean(days)} if days else ages


def _found(
    memory: MemorySystem, asked: Asked, held: dict[str, StoredTurn], saying: set[str]
) -> dict[str, Any]:
    """The columns of a recall."""
    start = time.perf_counter()
    try:
        recall = memory.recall(asked.question.query())
    except CallFailed as failed:
        return {"status": "failed", "reason": failed.reason, "final": failed.final}
    latency = milliseconds(start)
    ranked = [source.turn for source in recall.provenance]
    figures = ranked_figures(ranked, asked.turns, asked.sessions, lambda turn: _words(held[turn]), saying)
    return {"status": "ok", "latency_ms": latency, **figures}


def _words(held: StoredTurn) -> int:
    return len(held.shown("spoken", date=True).split())


STAGE = Stage("rank", 2, make)
