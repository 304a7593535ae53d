"""From a model's reply to an extraction, with a report of everything that is wrong with it.

Three modes. `off` is the reference code: nothing is refused beyond the JSON shape, and edges whose ends are
not in the reply are skipped. `reject` is the paper (section 3.3): one undefined label or invalid edge refuses
the whole reply. `repair` is ours: what is wrong is dropped and the rest kept. Every mode reports every fault,
`off` also those that it lets through; a record that is not an object, a null title or null attributes are
met without a crash.
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal

from memory.extraction import LABELS, ExtractedEdge, ExtractedNode, Extraction, Scalar
from memory.reply import RepeatedKeys, read_json

Validation = Literal["off", "reject", "repair"]
Fault = Literal[
    "not_an_object",
    "undefined_label",
    "empty_title",
    "empty_relationship",
    "dangling_edge",
    "self_loop",
    "duplicate_id",
]
MAX_ENTITIES = 32
"""Entities of one question that are read; the rest of a longer list is ignored."""

_CANONICAL = {label.casefold(): label for label in LABELS}


@dataclass(frozen=True, slots=True)
class Dropped:
    """One record that `repair` leaves out of an extraction: its fault, and which record it is."""

    kind: Fault
    detail: str


@dataclass(frozen=True, slots=True)
class QueryEntity:
    """An entity that a question is about."""

    label: str
    title: str
    content: str | None = None


def read_extraction(text: str, validation: Validation) -> tuple[Extraction, tuple[Dropped, ...]]:
    """Read an extractor's reply. Empty lists are a success: the turn says nothing worth keeping.

    Nodes and edges may be maps by temporary id, lists (without own `key` or `id` they are keyed node_0,
    node_1, ..., as the reference code does), or one list of both.

    Raises:
        ValueError: If the reply holds no extraction, or `reject` finds a fault; ask again.
    """
    nodes, edges = _split(read_json(text))
    faults: list[Dropped] = []
    read = Extraction(
        nodes=tuple(_node(key, raw) for key, raw in _records(nodes, "node", faults)),
        edges=tuple(_edge(raw) for _, raw in _records(edges, "edge", faults)),
    )
    checked, found = check_extraction(read, "off" if validation == "off" else "repair")
    dropped = (*faults, *found)
    if validation == "reject":
        _refuse(dropped)
    return checked, dropped


def check_extraction(
    extraction: Extraction, validation: Validation
) -> tuple[Extraction, tuple[Dropped, ...]]:
    """Apply a mode to an extraction that was read already, perhaps with a laxer one.

    Raises:
        ValueError: If `reject` finds a fault.
    """
    nodes, faults = _sound_nodes(extraction.nodes)
    if validation == "off":
        nodes = tuple({node.key: node for node in extraction.nodes}.values())
    keys = {node.key for node in nodes}
    edges = []
    for edge in extraction.edges:
        fault = _edge_fault(edge, keys)
        if fault is not None:
            faults.append(Dropped(fault, _brief(f"{edge.source} -> {edge.target}")))
        if fault is None or (validation == "off" and fault != "dangling_edge"):
            edges.append(edge)
    if validation == "reject":
        _refuse(tuple(faults))
    return Extraction(nodes=nodes, edges=tuple(edges)), tuple(faults)


def read_entities(text: str) -> tuple[QueryEntity, ...]:
    """Read the entities of a question; those without a title are left out, labels in any case are accepted.

    Raises:
        ValueError: If the reply holds no list of entities; ask again.
    """
    value = read_json(text)
    listed = value.get("entities") if isinstance(value, dict) else value
    if isinstance(value, dict) and listed is None:
        raise ValueError("the reply has no list named entities")
    if isinstance(listed, dict):
        listed = list(listed.values())
    if not isinstance(listed, list):
        raise ValueError("the reply's entities are not a list")
    entities = [
        QueryEntity(_label(raw.get("label")), _text(raw.get("title")), _text(raw.get("content")) or None)
        for raw in listed[:MAX_ENTITIES]
        if isinstance(raw, dict)
    ]
    return tuple(entity for entity in entities if entity.title)


def _split(value: object) -> tuple[object, object]:
    """The nodes and the edges of a reply, as maps or lists."""
    if isinstance(value, list):
        if len(value) == 1 and isinstance(value[0], dict) and ("nodes" in value[0] or "edges" in value[0]):
            return _split(value[0])
        return [raw for raw in value if not _is_edge(raw)], [raw for raw in value if _is_edge(raw)]
    if not isinstance(value, dict) or (value and "nodes" not in value and "edges" not in value):
        raise ValueError("the reply has neither nodes nor edges")
    return value.get("nodes"), value.get("edges")


def _is_edge(raw: object) -> bool:
    return isinstance(raw, dict) and "source" in raw and "target" in raw


def _records(raw: object, kind: str, faults: list[Dropped]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Keyed records of a map or a list; what is no object is reported and skipped."""
    if raw is None:
        return
    if not isinstance(raw, dict | list):
        raise ValueError(f"the reply's {kind}s are neither a map nor a list")
    if isinstance(raw, RepeatedKeys):
        faults.extend(Dropped("duplicate_id", _brief(key)) for key in raw.repeated)
    items = raw.items() if isinstance(raw, dict) else ((None, item) for item in raw)
    for position, (key, item) in enumerate(items):
        name = f"{kind}_{position}" if key is None else _text(key)
        if not isinstance(item, dict):
            faults.append(Dropped("not_an_object", _brief(name)))
            continue
        own = None if key is not None else item.get("key", item.get("id"))
        yield _text(own) or name, item


def _node(key: str, raw: dict[str, Any]) -> ExtractedNode:
    return ExtractedNode(
        key=key,
        label=_text(raw.get("label")),
        title=_text(raw.get("title")),
        content=_text(raw.get("content")) or None,
        attributes=_attributes(raw.get("attributes")),
    )


def _edge(raw: dict[str, Any]) -> ExtractedEdge:
    return ExtractedEdge(
        source=_text(raw.get("source")),
        target=_text(raw.get("target")),
        relationship=_text(raw.get("relationship")),
        attributes=_attributes(raw.get("attributes")),
    )


def _attributes(raw: object) -> dict[str, Scalar]:
    """A flat map from a map or a list of names and values; nulls are left out, nested values are JSON."""
    if isinstance(raw, list):
        pairs = [(item.get("name"), item.get("value")) for item in raw if isinstance(item, dict)]
    elif isinstance(raw, dict):
        pairs = list(raw.items())
    else:
        return {}
    read = {_text(name): _scalar(value) for name, value in pairs}
    return {name: value for name, value in read.items() if name and value is not None}


def _scalar(value: object) -> Scalar | None:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, bool | int | float) or value is None:
        return value
    if isinstance(value, str):
        return _text(value)
    try:
        return _text(json.dumps(value, ensure_ascii=False))
    except RecursionError:
        raise ValueError("the reply is nested too deeply") from None


def _text(value: object) -> str:
    """A string without lone surrogates, which no table can hold; numbers as written, anything else empty."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    return value.encode("utf-8", "replace").decode() if isinstance(value, str) else ""


def _label(value: object) -> str:
    """The ontology's spelling of a label where only case or blanks differ."""
    text = _text(value)
    return _CANONICAL.get(text.strip().casefold(), text)


def _sound_nodes(nodes: tuple[ExtractedNode, ...]) -> tuple[tuple[ExtractedNode, ...], list[Dropped]]:
    """The nodes that the ontology allows, first of each key, and what was wrong with the others."""
    kept: dict[str, ExtractedNode] = {}
    dropped = []
    for node in nodes:
        label = _label(node.label)
        if label not in LABELS:
            dropped.append(Dropped("undefined_label", _brief(f"{node.key}: {node.label}")))
        elif not node.title.strip():
            dropped.append(Dropped("empty_title", _brief(node.key)))
        elif node.key in kept:
            dropped.append(Dropped("duplicate_id", _brief(node.key)))
        else:
            kept[node.key] = node if label == node.label else node.model_copy(update={"label": label})
    return tuple(kept.values()), dropped


def _edge_fault(edge: ExtractedEdge, keys: set[str]) -> Fault | None:
    if edge.source not in keys or edge.target not in keys:
        return "dangling_edge"
    if edge.source == edge.target:
        return "self_loop"
    return None if edge.relationship.strip() else "empty_relationship"


def _refuse(dropped: tuple[Dropped, ...]) -> None:
    if dropped:
        counts = Counter(fault.kind for fault in dropped)
        raise ValueError(
            "the reply breaks the schema: " + ", ".join(f"{n} {kind}" for kind, n in counts.items())
        )


def _brief(text: str) -> str:
    return text if len(text) <= 120 else text[:119] + "…"
