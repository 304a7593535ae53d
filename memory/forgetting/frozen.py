"""Graphs as arrays, to be asked the same questions under many masks of what is still live.

A frontier compares tens of ways to forget over one graph. Removing nodes from copies of it would cost more than all
questions together; here a point of the frontier is a mask, and what `memory.retrieval` would find after
`MemoryGraph.remove_nodes` is found without removing anything: same nodes, same turns, same scores.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from memory.forgetting.candidates import Candidates, best_cosine
from memory.forgetting.ragged import Ints, Mask, Ragged
from memory.graph import MemoryGraph
from memory.models import Vectors
from memory.profiles import GraphSettings
from memory.vectors import TOLERANCE, Doubles


@dataclass(frozen=True, eq=False)
class FrozenGraph:
    """One graph, or several with a namespace each; nodes and turns are numbered through, oldest first.

    Attributes:
        settings: Of all the graphs.
        first_node: `(graphs + 1,)`: the nodes of graph `i` are those from `first_node[i]` to `first_node[i + 1]`.
        first_turn: The same for turns.
        vectors: `(nodes, dimensions)`, unit rows.
        person: `(nodes,)`: which nodes have the label Person.
        neighbours: Of each node, its distinct neighbours in the order in which edges to them were stored.
        sources: Of each node, the numbers of the turns that it stands on, ascending.
        numbers: Of each graph, its turns' numbers by id.
    """

    settings: GraphSettings
    first_node: Ints
    first_turn: Ints
    vectors: Vectors
    person: Mask
    neighbours: Ragged
    sources: Ragged
    numbers: tuple[Mapping[str, int], ...]

    @classmethod
    def of(cls, *graphs: MemoryGraph) -> FrozenGraph:
        """The present state of graphs with equal settings, copied. Graph `i` is namespace `i`.

        Raises:
            ValueError: If there is no graph, or settings differ.
        """
        if not graphs or any(graph.settings != graphs[0].settings for graph in graphs):
            raise ValueError("graphs can be frozen together only with equal settings")
        first_node = np.cumsum([0, *(len(graph) for graph in graphs)], dtype=np.int64)
        first_turn = np.cumsum([0, *(graph.turns for graph in graphs)], dtype=np.int64)
        numbers = tuple(
            {turn: int(first) + moment.number for turn, moment in graph.moments.items()}
            for graph, first in zip(graphs, first_turn, strict=False)
        )
        nodes = [node for graph in graphs for node in graph.nodes()]
        sources = [
            sorted(of_turn[turn] for turn in node.sources)
            for graph, of_turn in zip(graphs, numbers, strict=True)
            for node in graph.nodes()
        ]
        edges = np.concatenate(
            [_ends(graph) + first for graph, first in zip(graphs, first_node, strict=False)]
        )
        return cls(
            graphs[0].settings,
            first_node,
            first_turn,
            np.concatenate([graph.vectors.matrix[graph.live] for graph in graphs]),
            np.array([node.label == "Person" for node in nodes], np.bool_),
            _neighbours(edges, len(nodes)),
            Ragged.of(sources),
            numbers,
        )

    def __len__(self) -> int:
        """How many nodes there are."""
        return len(self.person)

    @property
    def turns(self) -> int:
        """How many turns there are."""
        return int(self.first_turn[-1])

    def evidence(self, turns: Sequence[Sequence[str]], namespaces: Sequence[int] | None = None) -> Ragged:
        """The numbers of each question's distinct evidence turns; -1 for one that was never merged.

        Args:
            turns: Of each question, the ids of its evidence.
            namespaces: Of each question, the graph that it is asked of; none for the first.
        """
        asked = [0] * len(turns) if namespaces is None else namespaces
        return Ragged.of(
            [
                [self.numbers[namespace].get(turn, -1) for turn in dict.fromkeys(each)]
                for each, namespace in zip(turns, asked, strict=True)
            ]
        )

    def under(self, live: Mask) -> Remaining:
        """What is left of the graph under a mask.

        Args:
            live: `(nodes,)`: which nodes are not forgotten.

        Raises:
            ValueError: If the mask has another length.
        """
        return Remaining(self, live)


class Remaining:
    """A frozen graph of which only some nodes are live."""

    def __init__(self, frozen: FrozenGraph, live: Mask) -> None:
        if live.shape != (len(frozen),):
            raise ValueError(f"a mask over {len(frozen)} nodes has shape {live.shape}")
        self.frozen = frozen
        self.live = np.append(live.astype(np.bool_), False)  # the last stands for a node that was gone before
        self._neighbours = frozen.neighbours.kept(live[frozen.neighbours.items])

    def walk(self, asked: Candidates) -> dict[int, float]:
        """The recalled nodes with their scores in the order they are found, as `memory.retrieval.expand`."""
        settings = self.frozen.settings
        found = dict(asked.roots(self.frozen, self.live))
        waiting = deque((node, 0) for node in found)
        while waiting and len(found) < settings.max_nodes:
            node, depth = waiting.popleft()
            if depth >= settings.hops:
                continue
            for other in self._visiting_order(node, asked):
                if other not in found:
                    found[other] = found[node] / 2
                    waiting.append((other, depth + 1))
                    if len(found) == settings.max_nodes:
                        break
        return found

    def recall(self, asked: Candidates) -> tuple[Ints, Doubles]:
        """The recalled turns, best first, and their scores, as `memory.retrieval.provenance`."""
        found = self.walk(asked)
        sources = [self.frozen.sources[node] for node in found]
        if not sources:
            return np.zeros(0, np.int64), np.zeros(0)
        shares = [score / len(turns) for score, turns in zip(found.values(), sources, strict=True)]
        turns, places = np.unique(np.concatenate(sources), return_inverse=True)
        weights = np.repeat(shares, [len(turns) for turns in sources])
        scores = np.asarray(np.bincount(places, weights), np.float64)
        order = np.argsort(-scores, kind="stable")
        return turns[order], scores[order]

    def ranks(self, asked: Candidates, wanted: Sequence[int]) -> list[int]:
        """The rank of each wanted turn in `recall`, from 1; 0 for one that is not recalled.

        The turns of the node that stands on most are not listed: those that no other node stands on share one score.
        """
        found = self.walk(asked)
        if not found:
            return [0] * len(wanted)
        sources = {node: self.frozen.sources[node] for node in found}
        widest = max(sources, key=lambda node: len(sources[node]))
        listed = {node: turns.tolist() for node, turns in sources.items() if node != widest}
        scores = {turn: 0.0 for turns in listed.values() for turn in turns}
        wide = sources[widest]
        shared = _among(sorted({*scores, *wanted}), wide)
        scores |= dict.fromkeys(shared, 0.0)
        listed[widest] = shared
        # In the order of finding, so that equal turns get equal sums to the bit, and ties are ties.
        for node, score in found.items():
            share = score / len(sources[node])
            for turn in listed[node]:
                scores[turn] += share
        rest = found[widest] / len(wide)

        def rank(turn: int) -> int:
            score = scores[turn]
            better: int = sum(other > score or (other == score and t < turn) for t, other in scores.items())
            if rest > score:
                better += len(wide) - len(shared)
            elif rest == score:
                better += int(np.searchsorted(wide, turn)) - bisect_left(shared, turn)
            return 1 + better

        return [rank(turn) if turn in scores else 0 for turn in wanted]

    def all_ranks(self, asked: Sequence[Candidates], evidence: Ragged) -> Ints:
        """`ranks` of the evidence of many questions, one number for each of `evidence.items`."""
        ranks = [self.ranks(each, evidence[i].tolist()) for i, each in enumerate(asked)]
        return Ragged.of(ranks).items

    def survives(self, turns: Ints, widest: int | None = None) -> Mask:
        """Whether a live node stands on each turn.

        Args:
            turns: Numbers of turns; -1 for one that was never merged, and survives nowhere.
            widest: A node that stands on more turns than that does not count: a hub that stands on all turns would
                answer for each of them. None lets every node count.
        """
        sources = self.frozen.sources
        counts = self.live[:-1] if widest is None else self.live[:-1] & (sources.lengths <= widest)
        standing = np.zeros(self.frozen.turns + 1, np.bool_)  # the last is that of turn -1
        standing[sources.items[np.repeat(counts, sources.lengths)]] = True
        return standing[turns]

    def _visiting_order(self, node: int, asked: Candidates) -> list[int]:
        """The first live neighbours of a node in the order of visiting: as many as a walk can look at.

        Those that are added and those that are there already are never more than `max_nodes`.
        """
        needed = self.frozen.settings.max_nodes
        others = self._neighbours[node]
        if asked.cosines is None or self.frozen.settings.neighbours == "insertion":
            return _listed(others[:needed])
        rough = asked.cosines[others - asked.first]
        if len(others) > needed:
            near = rough >= np.partition(rough, -needed)[-needed] - 2 * TOLERANCE
            others, rough = others[near], rough[near]
        order = np.argsort(-rough, kind="stable")
        if (np.diff(rough[order]) >= -2 * TOLERANCE).any():
            order = np.argsort(-best_cosine(self.frozen.vectors, others, asked.queries), kind="stable")
        return _listed(others[order])


def _listed(numbers: Ints) -> list[int]:
    listed: list[int] = numbers.tolist()
    return listed


def _among(numbers: Sequence[int], held: Ints) -> list[int]:
    """Those of some ascending numbers that are held; in time that hardly grows with how many are."""
    asked = np.array(numbers, np.int64)
    places = np.minimum(np.searchsorted(held, asked), len(held) - 1)
    return _listed(asked[held[places] == asked])


def _ends(graph: MemoryGraph) -> Ints:
    """`(edges, 2)`: the places of each edge's source and target among the graph's live nodes, oldest edge first."""
    place = np.cumsum(graph.live) - 1
    ends = [(graph.node(edge.source).row, graph.node(edge.target).row) for edge in graph.edges()]
    return place[np.array(ends, np.int64).reshape(-1, 2)].astype(np.int64)


def _neighbours(edges: Ints, nodes: int) -> Ragged:
    """The distinct neighbours of each node, itself left out, in the order of their first edge."""
    edges = edges[edges[:, 0] != edges[:, 1]]
    # Each edge from both its ends, one directly after the other.
    ends = np.stack([edges, edges[:, ::-1]], axis=1).reshape(-1, 2)
    _, first = np.unique(ends[:, 0] * nodes + ends[:, 1], return_index=True)
    ends = ends[np.sort(first)]
    ends = ends[np.argsort(ends[:, 0], kind="stable")]
    return Ragged.grouped(ends[:, 0], ends[:, 1], nodes)
