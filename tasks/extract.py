"""Stage `extract`: what an extractor makes of each distinct turn, bought once whatever memories read it."""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import Any

import pyarrow as pa

from memory.conversation import History
from memory.errors import CallFailed
from memory.extraction import ExtractedEdge, ExtractedNode, Extraction
from memory.models import Reply
from memory.prompts.extraction import ExtractionPrompt, request, spoken_text
from memory.validation import Dropped, read_extraction
from results.schemas import EXTRACTIONS
from results.tables import from_rows
from tasks.context import open_chat
from tasks.load import loaded
from tasks.prompts.hashing import request_hash
from tasks.stage import Artefact, Made, Stage, Work, count

Read = tuple[Extraction, tuple[Dropped, ...]]


def prompt_hash(prompt: ExtractionPrompt) -> str:
    """Hash of the prompt's text, its schema and its way of showing a turn."""
    return request_hash(request("user", "text", prompt))


def distinct_turns(work: Work) -> dict[str, tuple[str, str]]:
    """Speaker and text of each distinct turn, by content id, in order of first appearance."""
    histories, _, contents = loaded(work)
    distinct: dict[str, tuple[str, str]] = {}
    for history in histories.values():
        for turn in history.turns:
            distinct.setdefault(contents[turn.id], (turn.speaker, spoken_text(turn)))
    return distinct


def make(work: Work) -> Made:
    """Extract one slice of the distinct turns."""
    params = work.params
    turns = list(distinct_turns(work).items())[params["first"] : params["first"] + params["count"]]
    spoken = [(content, speaker, text) for content, (speaker, text) in turns if text.strip()]
    model = open_chat(work, "extractor", params["repeat"])
    replies = model.ask_many(
        [request(speaker, text, params["prompt_name"]) for _, speaker, text in spoken],
        lambda text: read_extraction(text, params["validation"]),
    )
    by_content = {content: reply for (content, _, _), reply in zip(spoken, replies, strict=True)}
    shared = {"model": model.name, "prompt": params["prompt"]}
    rows = [{"content": content, **shared, **_row(by_content.get(content))} for content, _ in turns]
    return Made({"extractions": from_rows(rows, EXTRACTIONS)}, count(rows))


def _row(reply: Reply[Read] | CallFailed | None) -> dict[str, Any]:
    if reply is None:
        return {"status": "empty", "reason": "blank turn", "nodes": [], "edges": [], "dropped": []}
    if isinstance(reply, CallFailed):
        return {"status": "failed", "reason": reply.reason, "final": reply.final}
    extraction, dropped = reply.value
    return {
        "status": "ok" if extraction.nodes else "empty",
        "nodes": [_with_json(node.model_dump()) for node in extraction.nodes],
        "edges": [_with_json(edge.model_dump()) for edge in extraction.edges],
        "dropped": [{"kind": drop.kind, "detail": drop.detail} for drop in dropped],
        "call": reply.call_id,
        "attempt": reply.attempt,
    }


def _with_json(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "attributes": json.dumps(fields["attributes"], ensure_ascii=False)}


STAGE = Stage("extract", 2, make)


def extractions_of(table: pa.Table) -> dict[str, Extraction]:
    """Extractions by content id; turns whose extraction failed are absent."""
    found = {}
    for row in table.select(["content", "status", "nodes", "edges"]).to_pylist():
        if row["status"] != "failed":
            nodes = tuple(ExtractedNode(**_from_json(node)) for node in row["nodes"])
            edges = tuple(ExtractedEdge(**_from_json(edge)) for edge in row["edges"])
            found[row["content"]] = Extraction(nodes=nodes, edges=edges)
    return found


def _from_json(fields: dict[str, Any]) -> dict[str, Any]:
    return {**fields, "attributes": json.loads(fields["attributes"])}


def require_extracted(work: Work, history: History) -> None:
    """Pass if every turn of a history was asked for: on a memory of half a history nothing should be bought.

    Raises:
        CallFailed: If the next run still asks for some of its turns.
    """
    _, _, contents = loaded(work)
    pending = _pending(work.run, _parts(work))
    missing = sum(contents[turn.id] in pending for turn in history.turns) if pending else 0
    if missing:
        raise CallFailed(f"{missing} of its turns are still to be extracted", final=False)


def _parts(work: Work) -> tuple[str, ...]:
    inputs = work.inputs.items()
    return tuple(artefact.model_dump_json() for name, artefact in inputs if name.startswith("extract-"))


@lru_cache(maxsize=2)
def _pending(run: str, artefacts: tuple[str, ...]) -> frozenset[str]:
    """The contents that the next run asks for again."""
    found: set[str] = set()
    for text in artefacts:
        table = Artefact.model_validate_json(text).read(Path(run), "extractions", EXTRACTIONS)
        rows = table.select(["content", "final"]).to_pylist()
        found.update(row["content"] for row in rows if row["final"] is False)
    return frozenset(found)


@lru_cache(maxsize=2)
def _extracted(run: str, artefacts: tuple[str, ...]) -> dict[str, Extraction]:
    found: dict[str, Extraction] = {}
    for text in artefacts:
        found |= extractions_of(
            Artefact.model_validate_json(text).read(Path(run), "extractions", EXTRACTIONS)
        )
    return found


def extracted(work: Work) -> dict[str, Extraction]:
    """All extractions by turn id, from a work's inputs `load` and `extract-*`; kept per process."""
    by_content = _extracted(work.run, _parts(work))
    _, _, contents = loaded(work)
    return {turn: by_content[content] for turn, content in contents.items() if content in by_content}
