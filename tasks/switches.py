"""Stage `switches`: every arm of the switch table asked every question of some histories, from what was bought.

Arms that build alike share one memory. Each question's entities and vectors are read once. No model is asked: where
something was not bought, the row says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from memory import tokens
from memory.conversation import History, Question
from memory.errors import CallFailed
from memory.extraction import Extraction
from memory.merge import descriptor
from memory.models import Vectors
from memory.profiles import GraphSettings
from memory.prompts.extraction import spoken_text
from memory.prompts.query_entities import request
from memory.protocol import Models
from memory.retrieval import expand, find_roots, provenance
from memory.serialise import serialise
from memory.systems.graph import GraphMemory
from memory.validation import QueryEntity, read_entities
from memory.walks import floor_acts, hubs, paths
from results.answer_match import normalised, occurs
from results.retrieval_metrics import turn_scores
from results.switches import SWITCH_ROWS
from results.tables import from_rows
from results.waterfall import tracked_forms
from tasks.context import stored_models
from tasks.extract import extracted, require_extracted
from tasks.load import loaded
from tasks.merge import in_order
from tasks.stage import Made, Stage, Work, count
from tasks.switches_arms import Arm, arms, build_key

Row = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Asked:
    """A question with what asking it takes.

    Attributes:
        question: The question.
        entities: What it asks about.
        queries: Their unit vectors.
        forms: What to look for in a context; none where no evidence turn says the reference answer.
        seen: What was found out of contexts that came up before, by context.
    """

    question: Question
    entities: tuple[QueryEntity, ...]
    queries: Vectors
    forms: tuple[str, ...]
    seen: dict[str, Row]

    def of_context(self, context: str) -> Row:
        """The columns that follow from the text alone: many arms bring up the same one."""
        if context not in self.seen:
            answer = float(occurs(self.forms, normalised(context))) if self.forms else None
            self.seen[context] = {"context_tokens": tokens.count(context), "answer_in_context": answer}
        return self.seen[context]


def make(work: Work) -> Made:
    """Ask the questions of a batch of histories."""
    histories, questions, _ = loaded(work)
    rows: list[Row] = []
    models, extractions = stored_models(work), extracted(work)
    for name in work.params["histories"]:
        asked = [question for question in questions if question.history == name]
        require_extracted(work, histories[name])
        rows += _history_rows(work, histories[name], asked, models, extractions)
    return Made({"switch_rows": from_rows(rows, SWITCH_ROWS)}, count(rows))


STAGE = Stage("switches", 1, make)


def _history_rows(
    work: Work,
    history: History,
    questions: Sequence[Question],
    models: Models,
    extractions: Mapping[str, Extraction],
) -> Iterator[Row]:
    bases = work.params["bases"]
    ready = [ready_to_ask(question, history, models) for question in questions]
    for group in _alike(bases).values():
        memory = built(group[0].settings(bases), history, models, extractions)
        for arm in group:
            row = _asking(memory, arm.settings(bases))
            for question, each in zip(questions, ready, strict=True):
                yield {"question": question.id, **arm.key, **row(each)}


def _alike(bases: Mapping[str, Mapping[str, Any]]) -> dict[str, list[Arm]]:
    """The arms, together where they build alike."""
    groups: dict[str, list[Arm]] = {}
    for arm in arms(bases):
        groups.setdefault(build_key(arm.settings(bases)), []).append(arm)
    return groups


def built(
    settings: GraphSettings, history: History, models: Models, extractions: Mapping[str, Extraction]
) -> GraphMemory | CallFailed:
    """A memory that has heard a history; why there is none, where a vector that it needs was not bought."""
    memory = GraphMemory(settings, models)
    try:
        for session in in_order(history, {"session_order": settings.session_order}):
            memory.remember(session, extractions)
    except CallFailed as failed:
        return failed
    return memory


def ready_to_ask(question: Question, history: History, models: Models) -> Asked | CallFailed:
    """The question with its entities and their vectors, or why these are not there."""
    try:
        entities = models.chat.ask(request(question.text), read_entities).value
        embedded = models.embedder.embed([descriptor(e.label, e.title, e.content) for e in entities])
    except CallFailed as failed:
        return failed
    there = [row for row in range(len(entities)) if row not in embedded.failures]
    return Asked(question, entities, embedded.vectors[there], forms_of(question, history), {})


def forms_of(question: Question, history: History) -> tuple[str, ...]:
    """What to look for in a context: the reference answer as an evidence turn says it, else nothing."""
    if question.abstention:
        return ()
    said = {turn.id: spoken_text(turn) for turn in history.turns}
    return tracked_forms(question.reference, [said[turn] for turn in question.evidence])


def there(part: T | CallFailed) -> T:
    """What may have failed, where it has not.

    Raises:
        CallFailed: If it has.
    """
    if isinstance(part, CallFailed):
        raise part
    return part


def failure(failed: CallFailed) -> Row:
    """The columns of a row that cannot be."""
    return {"status": "failed", "reason": failed.reason}


def _asking(memory: GraphMemory | CallFailed, settings: GraphSettings) -> Callable[[Asked | CallFailed], Row]:
    """What makes the columns of a question that is put to a memory with these settings of retrieval."""
    try:
        view = there(memory).asked_with(settings)
    except CallFailed as failed:
        unbuilt = failure(failed)
        return lambda asked: unbuilt
    most_joined = hubs(view.graph)
    return lambda asked: failure(asked) if isinstance(asked, CallFailed) else _row(view, asked, most_joined)


def _row(memory: GraphMemory, asked: Asked, hubs: frozenset[str]) -> Row:
    graph = memory.graph
    roots = find_roots(graph, asked.entities, asked.queries, memory.floor)
    found = expand(graph, roots, asked.queries)
    walked = paths(found, hubs)
    return {
        "status": "ok",
        "floor_acts": float(floor_acts(graph, asked.queries, roots)),
        "nodes": len(found.nodes),
        "edges": len(found.edges),
        "paths": walked.all,
        "hub_paths": walked.through_hubs,
        "hub_share": walked.through_hubs / walked.all if walked.all else None,
        **asked.of_context(serialise(graph, found)),
        **_ranking(asked.question, [source.turn for source in provenance(graph, found)]),
    }


def _ranking(question: Question, ranked: Sequence[str]) -> Row:
    scores = None if question.abstention else turn_scores(ranked, question.evidence)
    if scores is None:
        return {}
    columns = scores.columns("turn")
    return {name: columns[name] for name in ("turn_recall_5", "turn_mrr", "turn_ndcg_10")}
