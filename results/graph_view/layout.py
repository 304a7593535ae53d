"""Where the nodes of a graph stand in a picture: the same places for the same graph."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial import cKDTree

Places = npt.NDArray[np.float64]

SPACING = 60.0
"""Pixels of the ideal distance k between the ends of an edge."""
_STEPS = 150
_NEAR = 2.0
"""Ideal distances within which every pair is counted; beyond, a sample stands for all."""
_SAMPLE = 200
_GRAVITY = 0.8
"""A pull to the middle of g·x holds what repels as 1/d at a density of g/π: components stand together."""


def spring_layout(nodes: int, edges: npt.NDArray[np.intp], seed: int = 0) -> Places:
    """Places in pixels, `(nodes, 2)`, around the origin.

    The force-directed placement of Fruchterman and Reingold (Software: Practice and Experience 21(11), 1991): with k
    the ideal distance, nodes at distance d repel one another with k²/d, an edge draws its ends together with d²/k, and
    a step is no longer than a temperature that falls. NetworkX's own visits every pair in every step, which takes half
    a minute at 3,000 nodes; here distant pairs are sampled.

    Args:
        nodes: How many there are.
        edges: Numbers of the nodes at their ends, `(edges, 2)`.
        seed: Of the places that the nodes start from, and of the samples.
    """
    random = np.random.default_rng(seed)
    radius = np.sqrt(max(1, nodes) / _GRAVITY)
    places = random.uniform(-radius, radius, (nodes, 2))  # in units of k
    for step in range(_STEPS if nodes > 1 else 0):
        sample = random.choice(nodes, min(nodes, _SAMPLE), replace=False)
        force = _attraction(places, edges) + _near(places) + _far(places, sample) - _GRAVITY * places
        length = np.maximum(np.linalg.norm(force, axis=1, keepdims=True), 1e-9)
        places += force / length * np.minimum(length, 0.2 * radius * (1 - step / _STEPS) ** 2)
    return places * SPACING


def _attraction(places: Places, edges: npt.NDArray[np.intp]) -> Places:
    """Along each edge d²/k."""
    away = places[edges[:, 0]] - places[edges[:, 1]]
    return _on_both(edges, -away * np.linalg.norm(away, axis=1, keepdims=True), len(places))


def _near(places: Places) -> Places:
    """Between near pairs k²/d."""
    pairs = cKDTree(places).query_pairs(_NEAR, output_type="ndarray")
    away = places[pairs[:, 0]] - places[pairs[:, 1]]
    return _on_both(pairs, away / np.maximum(np.einsum("pd,pd->p", away, away), 0.01)[:, None], len(places))


def _far(places: Places, sample: npt.NDArray[np.intp]) -> Places:
    """Between pairs that are not near k²/d, as a sample has it."""
    away = places[:, None] - places[sample]
    squares = np.einsum("nsd,nsd->ns", away, away)
    weights = np.where(squares > _NEAR**2, 1 / np.maximum(squares, _NEAR**2), 0.0)
    force: Places = np.einsum("ns,nsd->nd", weights, away)
    return force * (len(places) / len(sample))


def _on_both(pairs: npt.NDArray[np.intp], force: Places, nodes: int) -> Places:
    """The forces on each node, of pairs whose first end feels `force` and whose second the opposite."""
    columns = [
        np.bincount(pairs[:, 0], force[:, axis], nodes) - np.bincount(pairs[:, 1], force[:, axis], nodes)
        for axis in range(2)
    ]
    return np.stack(columns, axis=1)
