"""A subgraph as the text that an answerer reads (facts, section 8)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from memory.attributes import Attributes, Version
from memory.conversation import Turn
from memory.extraction import is_speaker
from memory.graph import Edge, MemoryGraph, Node
from memory.retrieval import Subgraph

CUT = "[cut]"


def serialise(graph: MemoryGraph, subgraph: Subgraph) -> str:
    """One line a node, one line an edge; empty if there is neither.

    With `show_dates`, each line ends with the date of the session that it was first said in, and of the
    last if that is another; former attribute values follow the present one with theirs. An edge's end
    outside the subgraph is shown by its title all the same.
    """
    if not subgraph.nodes and not subgraph.edges:
        return ""
    limit = graph.settings.max_context_characters
    lines, characters = [], 0
    for line in _lines(graph, subgraph):
        lines.append(line)
        characters += len(line) + 1
        # A hub's edges are tens of thousands of lines: those beyond the cut are not written at all.
        if limit is not None and characters > limit + 1:
            break
    text = "\n".join(lines)
    return text if limit is None or len(text) <= limit else f"{text[:limit]}\n{CUT}"


def lines_on(graph: MemoryGraph, turn: Turn) -> list[str]:
    """The lines, as `serialise` writes them, of all nodes and edges that stand on a turn.

    The node of the turn's speaker is there only if a value of its attributes is from this turn.
    """
    nodes = (node for node in graph.nodes() if turn.id in node.sources and _tells_of(node, turn))
    edges = (edge for edge in graph.edges() if turn.id in edge.sources)
    return [*(node_line(graph, node) for node in nodes), *(edge_line(graph, edge) for edge in edges)]


def _tells_of(node: Node, turn: Turn) -> bool:
    if not is_speaker(node.label, node.title, turn):
        return True
    return any(version.turn == turn.id for held in node.attributes.values() for version in held)


def _lines(graph: MemoryGraph, subgraph: Subgraph) -> Iterator[str]:
    yield "Nodes:"
    yield from (node_line(graph, graph.node(found.id)) for found in subgraph.nodes)
    yield "Edges:"
    yield from (edge_line(graph, edge) for edge in subgraph.edges)


def node_line(graph: MemoryGraph, node: Node) -> str:
    """A node as the context shows it."""
    content = f" ({_flat(node.content)})" if node.content else ""
    attributes = _attributes(graph, node.attributes)
    return f"[{_flat(node.label)}] {_flat(node.title)}{content}{attributes}{_said(graph, node)}"


def edge_line(graph: MemoryGraph, edge: Edge) -> str:
    """An edge as the context shows it."""
    source, target = _flat(graph.node(edge.source).title), _flat(graph.node(edge.target).title)
    arrow = f"{_flat(edge.relationship)}{_attributes(graph, edge.attributes)}"
    return f"{source} --[{arrow}]--> {target}{_said(graph, edge)}"


def _attributes(graph: MemoryGraph, attributes: Attributes) -> str:
    if not attributes:
        return ""
    shown = [f"{_flat(name)}: {_value(graph, held)}" for name, held in attributes.items()]
    return " {" + ", ".join(shown) + "}"


def _value(graph: MemoryGraph, held: list[Version]) -> str:
    standing, former = held[-1], held[:-1]
    text = _flat(str(standing.value))
    if not former or not graph.settings.show_dates:
        return text
    told = "; ".join(f"{_flat(str(v.value))}{_dated(v.time)}" for v in former)
    return f"{text}{_dated(standing.time)} (formerly {told})"


def _said(graph: MemoryGraph, item: Node | Edge) -> str:
    if not graph.settings.show_dates:
        return ""
    times = sorted(time for turn in (item.sources[0], item.sources[-1]) if (time := graph.moments[turn].time))
    days = list(dict.fromkeys(time.date().isoformat() for time in times))
    return f" (said {', last '.join(days)})" if days else ""


def _dated(time: datetime | None) -> str:
    return f" on {time.date().isoformat()}" if time else ""


def _flat(text: str) -> str:
    """One line of text, so that what a turn says can forge no line of the context."""
    return " ".join(text.split())
