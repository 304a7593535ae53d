"""The graph as Arrow tables, and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from memory.errors import BadInput
from memory.hipporag.graph import PhraseGraph
from memory.hipporag.located import LocatedVectors, check_places
from memory.hipporag.settings import HippoRAGSettings

_PHRASES = pa.schema({"phrase": pa.string()})
_FACTS = pa.schema({"subject": pa.string(), "relation": pa.string(), "object": pa.string()})
_SAID = pa.schema([("passage", pa.int64()), ("fact", pa.int64())])
_SYNONYM: dict[str, pa.DataType] = {"phrase": pa.int64(), "other": pa.int64(), "cosine": pa.float64()}
_SYNONYMS = pa.schema(_SYNONYM)


def to_tables(graph: PhraseGraph) -> dict[str, pa.Table]:
    """The graph as tables; a number in them is the place of a passage, phrase or fact, in the order they came."""
    facts = list(zip(*graph.facts, strict=True)) or [(), (), ()]
    said = list(zip(*graph.said, strict=True)) or [(), ()]
    pairs = (*graph.synonyms.pairs.T, graph.synonyms.cosines)
    return {
        "phrases": _table([list(graph.phrases)], _PHRASES),
        "facts": _table(facts, _FACTS),
        "said": _table(said, _SAID),
        "synonyms": _table(pairs, _SYNONYMS),
        "passage_vectors": graph.passage_vectors.table(),
        "phrase_vectors": graph.phrase_vectors.table(),
        "fact_vectors": graph.fact_vectors.table(),
    }


def from_tables(
    tables: Mapping[str, pa.Table], dimensions: int, settings: HippoRAGSettings, passages: int
) -> PhraseGraph:
    """The graph that tables came from, over so many passages.

    Raises:
        BadInput: If they do not fit one another.
    """
    graph = PhraseGraph(dimensions, settings)
    graph.passages = passages
    try:
        graph.phrases = {row["phrase"]: place for place, row in enumerate(tables["phrases"].to_pylist())}
        graph.facts = {
            (row["subject"], row["relation"], row["object"]): place
            for place, row in enumerate(tables["facts"].to_pylist())
        }
        graph.said = [(row["passage"], row["fact"]) for row in tables["said"].to_pylist()]
        graph.passage_vectors = LocatedVectors.from_table(tables["passage_vectors"], dimensions, passages)
        graph.phrase_vectors = LocatedVectors.from_table(
            tables["phrase_vectors"], dimensions, len(graph.phrases)
        )
        graph.fact_vectors = LocatedVectors.from_table(tables["fact_vectors"], dimensions, len(graph.facts))
        pairs = tables["synonyms"]
        graph.synonyms.pairs = np.stack(
            [pairs["phrase"].to_numpy(), pairs["other"].to_numpy()], axis=1
        ).astype(np.intp)
        graph.synonyms.cosines = pairs["cosine"].to_numpy().astype(np.float64)
        _check(graph)
    except (KeyError, ValueError) as error:
        raise BadInput(f"the memory's tables do not fit one another ({error}); build it again") from error
    return graph


def _table(columns: object, schema: pa.Schema) -> pa.Table:
    arrays = [pa.array(column, kind) for column, kind in zip(columns, schema.types, strict=True)]  # type: ignore[call-overload]
    return pa.Table.from_arrays(arrays, schema=schema)


def _check(graph: PhraseGraph) -> None:
    """Verify that what the tables number is there.

    Raises:
        KeyError: If a fact has a phrase that is not.
        ValueError: If a number is too high or negative.
    """
    graph.ends()
    passages, facts = np.array(graph.said, np.intp).reshape(-1, 2).T
    check_places(passages, graph.passages)
    check_places(facts, len(graph.facts))
    check_places(graph.synonyms.pairs.ravel(), len(graph.phrases))
