"""What each condition recalled for each question, as much of it as a report shows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from results.report.sources import RunFolder, torn

SHOWN = 10
"""Turns that are shown of a ranking."""
LOOKED_AT = 50
"""Turns of a ranking in which evidence is looked for: as far as MRR looks."""
LONGEST_CONTEXT = 16_000
"""Characters of a context that are read at most."""
_COLUMNS = ("question", "condition", "status", "reason", "items", "edges", "flags")
_BATCH = 64


@dataclass(frozen=True, slots=True)
class Recalled:
    """One row of `recalls`, cut.

    Attributes:
        status: `ok`, or what became of it.
        turns: The first `LOOKED_AT` turns, best first.
        scores: Of these turns.
        all_turns: How many turns the context stands on.
        context: The first `LONGEST_CONTEXT` characters of it.
        characters: Of the whole context.
    """

    status: str
    reason: str
    turns: tuple[str, ...]
    scores: tuple[float | None, ...]
    all_turns: int
    items: int | None
    edges: int | None
    flags: tuple[str, ...]
    context: str
    characters: int


def recalled(run: RunFolder, conditions: Sequence[str]) -> dict[tuple[str, str], Recalled]:
    """The recalls of some conditions by question and condition; empty if the run has none yet.

    Raises:
        TornTable: If the table is not whole.
    """
    return {key: row for batch in _batches(run, conditions) for key, row in _rows(batch)}


def _batches(run: RunFolder, conditions: Sequence[str]) -> Iterator[pa.Table]:
    """The table in pieces: a store that all share ranks thousands of turns for each question."""
    path = run.path("recalls.parquet")
    if path is None:
        return
    wanted = pa.array(conditions, pa.string())
    try:
        with pq.ParquetFile(path) as file:
            columns = [*_COLUMNS, "turns", "scores", "context"]
            for batch in file.iter_batches(_BATCH, columns=columns):
                yield pa.Table.from_batches([batch]).filter(pc.is_in(batch["condition"], value_set=wanted))
    except (pa.ArrowException, OSError, KeyError) as error:
        raise torn(path, error) from error


def _rows(batch: pa.Table) -> Iterator[tuple[tuple[str, str], Recalled]]:
    plain = batch.select(list(_COLUMNS)).to_pylist()
    turns = pc.list_slice(batch["turns"], 0, LOOKED_AT).to_pylist()
    scores = pc.list_slice(batch["scores"], 0, LOOKED_AT).to_pylist()
    counts = pc.list_value_length(batch["turns"]).to_pylist()
    contexts = pc.utf8_slice_codeunits(batch["context"], 0, LONGEST_CONTEXT).to_pylist()
    lengths = pc.utf8_length(batch["context"]).to_pylist()
    for row, ranked, scored, count, context, length in zip(
        plain, turns, scores, counts, contexts, lengths, strict=True
    ):
        yield (
            (row["question"], row["condition"]),
            Recalled(
                status=row["status"] or "",
                reason=row["reason"] or "",
                turns=tuple(ranked or ()),
                scores=tuple(scored or ()),
                all_turns=count or 0,
                items=row["items"],
                edges=row["edges"],
                flags=tuple(row["flags"] or ()),
                context=context or "",
                characters=length or 0,
            ),
        )


def turns_of(run: RunFolder, ids: Sequence[str]) -> Mapping[str, dict[str, Any]]:
    """The turns of those ids, with their session, date, speaker, text and caption."""
    columns = ("turn", "session", "date", "role", "speaker", "text", "caption")
    table = run.table("turns", columns, where=[("turn", "in", list(ids))] if ids else None)
    if table is None or not ids:
        return {}
    return {row["turn"]: row for row in table.to_pylist()}
