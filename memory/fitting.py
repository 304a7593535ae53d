"""A context within so many tokens: what is best is taken first, and what does not fit is passed over.

The same rule for turns and for the lines of a graph, so that both may be compared at equal tokens: every piece, best
first, is taken if it still fits. A piece's tokens are counted alone (o200k_base), with what joins it to the next.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from memory import tokens
from memory.graph import Edge, MemoryGraph, Node
from memory.retrieval import Subgraph
from memory.serialise import edge_line, node_line
from memory.systems.turns import RULE


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a context.

    Attributes:
        text: What the reader sees.
        tokens: How many tokens it takes.
        turns: The turns of which it says something.
    """

    text: str
    tokens: int
    turns: frozenset[str]


def fitted(pieces: Iterable[Piece], limit: int) -> list[Piece]:
    """The pieces that are taken, in order, so that together they take at most `limit` tokens."""
    taken, left = [], limit
    for piece in pieces:
        if piece.tokens <= left:
            taken.append(piece)
            left -= piece.tokens
    return taken


def turn_pieces(turns: Sequence[tuple[str, str]]) -> list[Piece]:
    """Pieces of turns, given best first by id and as the context shows them."""
    return [Piece(text, tokens.count(text + RULE), frozenset({turn})) for turn, text in turns]


def graph_pieces(graph: MemoryGraph, subgraph: Subgraph) -> list[Piece]:
    """Pieces of a subgraph, a line each: nodes by their score, each followed by its edges to those before it.

    An edge whose other end is outside of the subgraph follows the end that is inside.

    A node that was mentioned in hundreds of turns repeats none of them: its line says something only of the turn that
    it was first said in and of those that its attribute values come from. An edge's says that its turns said so.
    """
    order = sorted(subgraph.nodes, key=lambda found: -found.score)
    place = {found.id: number for number, found in enumerate(order)}
    after: list[list[Edge]] = [[] for _ in order]
    for edge in subgraph.edges:
        after[max(place[end] for end in (edge.source, edge.target) if end in place)].append(edge)
    found: list[Piece] = []
    for here, edges in zip(order, after, strict=True):
        node = graph.node(here.id)
        found.append(_line(node_line(graph, node), [node.sources[0], *_told(graph, node)]))
        found += [_line(edge_line(graph, edge), [*edge.sources, *_told(graph, edge)]) for edge in edges]
    return found


def _line(text: str, turns: Iterable[str]) -> Piece:
    return Piece(text, tokens.count(text + "\n"), frozenset(turns))


def _told(graph: MemoryGraph, item: Node | Edge) -> Iterator[str]:
    """The turns that the attribute values come from that an item's line shows: former ones only with dates."""
    first = 0 if graph.settings.show_dates else -1
    return (version.turn for held in item.attributes.values() for version in held[first:])
