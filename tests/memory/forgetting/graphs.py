"""Graphs that grow from drawn conversations, for tests of what forgetting does to them."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
from hypothesis import strategies as st

from memory.extraction import LABELS, Extraction
from memory.forgetting.states import Clock
from memory.graph import MemoryGraph, stamp
from tests.memory.fake_models import MAY, extraction, feed

TITLES = [f"thing {i}" for i in range(12)]


@st.composite
def turns(draw: st.DrawFn, least: int = 1, most: int = 15) -> list[Extraction]:
    """What was extracted from some turns: few titles, so that nodes recur, and edges among them, loops included."""
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return [_turn(random) for _ in range(draw(st.integers(least, most)))]


def _turn(random: np.random.Generator) -> Extraction:
    named = random.choice(TITLES, random.integers(0, 5), replace=False).tolist()
    nodes = [
        (str(random.choice(LABELS[:3])), title, "seen", {"mood": int(random.integers(9))}) for title in named
    ]
    edges: list[Any] = []
    if named:
        for _ in range(random.integers(0, 4)):
            source, target = random.choice(named, 2)
            edges.append(
                (str(source), f"knows {random.integers(2)}", str(target), {"since": int(random.integers(9))})
            )
    return extraction(nodes, edges)


def grow(graph: MemoryGraph, said: list[Extraction]) -> None:
    """Merge some turns, a month apart."""
    for each in said:
        feed(graph, f"t{graph.turns}", each, time=MAY + timedelta(days=30 * graph.turns))


def clock(graph: MemoryGraph) -> Clock:
    """The clock after the graph's last turn."""
    return Clock(stamp(MAY + timedelta(days=30 * graph.turns)), graph.turns)
