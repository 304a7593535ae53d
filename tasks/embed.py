"""Stage `embed`: vectors for all that the study's memories will embed, each distinct text once, in large batches."""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache

import numpy as np
import pyarrow as pa

from memory.errors import CallFailed
from memory.models import Embedded
from memory.systems import find
from results.schemas import vectors as vectors_schema
from tasks.context import open_embedder, open_memory
from tasks.extract import extracted
from tasks.load import loaded
from tasks.runs import read_run
from tasks.stage import Made, Stage, Work


def texts_of(work: Work) -> list[str]:
    """The distinct texts that the study's conditions embed, shortest first.

    They follow from the study and from the work's inputs `load` and `extract-*`; kept per process.
    """
    return _texts_of(
        work.model_copy(update={"batch": "", "params": {"models": work.params["models"]}}).model_dump_json()
    )


@lru_cache(maxsize=1)
def _texts_of(work_json: str) -> list[str]:
    work = Work.model_validate_json(work_json)
    study = read_run(work.folder).study
    histories, _, _ = loaded(work)
    extractions = extracted(work)
    texts: set[str] = set()
    for condition in study.conditions:
        if "embedder" not in find(condition.system).asks:
            continue
        memory = open_memory(study.arm(condition), work)
        for history in histories.values():
            for session in history.sessions:
                texts.update(memory.texts(session, extractions))
    return _in_order(texts)


def text_hash(text: str) -> str:
    """The name of a text in the `vectors` table."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def texts_hash(texts: list[str]) -> str:
    """Hash of a list of texts: what the vectors of a batch depend on."""
    return hashlib.sha256(json.dumps(texts).encode()).hexdigest()


def _texts_in(work: Work) -> list[str]:
    """The distinct texts that the work's arms embed of its histories, and of the questions about these."""
    histories, questions, _ = loaded(work)
    named = work.params["histories"]
    texts = {question.text for question in questions if question.history in named}
    for arm in work.params["arms"]:
        memory = open_memory(arm, work)
        extractions = extracted(work) if memory.needs_extractions else {}
        for name in named:
            for session in histories[name].sessions:
                texts.update(memory.texts(session, extractions))
    return _in_order(texts)


def _in_order(texts: set[str]) -> list[str]:
    return sorted((text for text in texts if text.strip()), key=lambda text: (len(text), text))


def make(work: Work) -> Made:
    """Embed every so-manieth text, so that all batches have texts of all lengths and take alike.

    A work that names histories embeds what its `arms` make of those, so that whoever reads them reads no others.
    """
    if "histories" in work.params:
        return embedded(_texts_in(work), work)
    return embedded(texts_of(work)[work.params["first"] :: work.params["step"]], work)


def embedded(texts: list[str], work: Work) -> Made:
    """The vectors of texts as a table: `vectors`, or as the work calls it."""
    embedder = open_embedder(work)
    counts: dict[str, int] = {}
    try:
        embedded = embedder.embed(texts)
    except CallFailed:
        # What it has bought is in the store; memories that need the rest say so in their rows.
        texts, counts, embedded = (
            [],
            {"pending": len(texts)},
            Embedded(np.zeros((0, embedder.dimensions), np.float32)),
        )
    kept = [row for row in range(len(texts)) if row not in embedded.failures]
    flat = np.ascontiguousarray(embedded.vectors[kept], dtype=np.float32).reshape(-1)
    table = pa.table(
        [
            pa.array([text_hash(texts[row]) for row in kept], pa.string()),
            pa.array([embedder.name] * len(kept), pa.string()),
            pa.FixedSizeListArray.from_arrays(pa.array(flat), embedder.dimensions),
        ],
        schema=vectors_schema(embedder.dimensions),
    )
    return Made(
        {work.params.get("table", "vectors"): table},
        {"ok": len(kept), "failed": len(embedded.failures), **counts},
    )


STAGE = Stage("embed", 1, make)
