"""Turns and the lines of a graph as pieces of a context, so that both may be compared at equal tokens.

By `memory.packing`, every piece, best first, is taken if it still fits.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from memory import tokens
from memory.graph import Edge, MemoryGraph, Node
from memory.packing import cost, fitted
from memory.protocol import Source
from memory.retrieval import Found, Subgraph, provenance
from memory.serialise import edge_line, node_line
from memory.systems.turns import RULE


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a context.

    Attributes:
        text: What the reader sees.
        tokens: How many tokens (o200k_base) it takes alone, with what joins it to the next.
        turns: The turns of which it says something.
    """

    text: str
    tokens: int
    turns: frozenset[str]


def turn_pieces(turns: Sequence[tuple[str, str]]) -> list[Piece]:
    """Pieces of turns, given best first by id and as the context shows them."""
    return [Piece(text, tokens.count(text + RULE), frozenset({turn})) for turn, text in turns]


def graph_pieces(graph: MemoryGraph, subgraph: Subgraph) -> list[Piece]:
    """Pieces of a subgraph, a line each, in the order of `by_score`.

    A node that was mentioned in hundreds of turns repeats none of them: its line says something only of the turn that
    it was first said in and of those that its attribute values come from. An edge's says that its turns said so.
    """
    pieces = []
    for found in by_score(subgraph):
        item = graph.node(found.id) if isinstance(found, Found) else found
        said = item.sources[:1] if isinstance(found, Found) else item.sources
        text = _line(graph, found)
        pieces.append(Piece(text, tokens.count(text + "\n"), frozenset([*said, *_told(graph, item)])))
    return pieces


def by_score(subgraph: Subgraph) -> list[Found | Edge]:
    """The nodes of a subgraph by their score, each followed by its edges to those before it.

    An edge whose other end is outside of the subgraph follows the end that is inside.
    """
    order = sorted(subgraph.nodes, key=lambda found: -found.score)
    place = {found.id: number for number, found in enumerate(order)}
    after: list[list[Edge]] = [[] for _ in order]
    for edge in subgraph.edges:
        after[max(place[end] for end in (edge.source, edge.target) if end in place)].append(edge)
    items: list[Found | Edge] = []
    for here, edges in zip(order, after, strict=True):
        items += [here, *edges]
    return items


def within(graph: MemoryGraph, subgraph: Subgraph, budget: int, constant: int) -> Subgraph:
    """What of a subgraph is shown under a budget: its lines, as `by_score` orders them, packed by `memory.packing`.

    Args:
        graph: Is only read.
        subgraph: What was found in it.
        budget: Tokens that the lines may cost.
        constant: What a line costs beside its tokens.
    """
    items = by_score(subgraph)
    taken = fitted(items, (cost(_line(graph, item), constant) for item in items), budget)
    nodes = {item.id for item in taken if isinstance(item, Found)}
    edges = {item.order for item in taken if isinstance(item, Edge)}
    return Subgraph(
        tuple(found for found in subgraph.nodes if found.id in nodes),
        tuple(edge for edge in subgraph.edges if edge.order in edges),
    )


def provenance_within(graph: MemoryGraph, subgraph: Subgraph, shown: Subgraph) -> tuple[Source, ...]:
    """The turns that a part of a subgraph stands on: those of the nodes that have a line, or are an edge's end."""
    named = {found.id for found in shown.nodes}
    named |= {end for edge in shown.edges for end in (edge.source, edge.target)}
    return provenance(graph, Subgraph(tuple(found for found in subgraph.nodes if found.id in named), ()))


def _line(graph: MemoryGraph, item: Found | Edge) -> str:
    return node_line(graph, graph.node(item.id)) if isinstance(item, Found) else edge_line(graph, item)


def _told(graph: MemoryGraph, item: Node | Edge) -> Iterator[str]:
    """The turns that the attribute values come from that an item's line shows: former ones only with dates."""
    first = 0 if graph.settings.show_dates else -1
    return (version.turn for held in item.attributes.values() for version in held[first:])
