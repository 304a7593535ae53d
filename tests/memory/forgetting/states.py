"""States for tests: written out by hand, or drawn by Hypothesis."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

from memory.forgetting.states import Clock, States

NOW = np.datetime64("2024-01-01T12:00:00", "us")
CLOCK = Clock(NOW, 10_000)
NEVER = np.datetime64("NaT", "us")


def days_ago(days: float) -> np.datetime64:
    return NOW - np.timedelta64(round(days * 86_400_000_000), "us")


def states(n: int = 1, **columns: Any) -> States:
    """`n` items, made now and never accessed, that have nothing; but for the columns that are given."""
    times = {
        "created_at": np.full(n, NOW),
        "last_accessed_at": np.full(n, NEVER),
    }
    counts = {
        "access_count": np.zeros(n),
        "turns_at_creation": np.full(n, CLOCK.turns),
        "turns_at_last_access": np.full(n, -1),
        "degree": np.zeros(n),
        "label": np.zeros(n),
        "bytes": np.full(n, 100),
    }
    given = {name: np.asarray(values) for name, values in columns.items()}
    return States(
        **{name: given.get(name, default).astype("datetime64[us]") for name, default in times.items()},
        **{name: given.get(name, default).astype(np.int64) for name, default in counts.items()},
        edges=given.get("edges", np.zeros((0, 2))).astype(np.int64),
        vectors=given.get("vectors", np.eye(n, 4)).astype(np.float32),
    )


@st.composite
def any_states(draw: st.DrawFn, least: int = 0, most: int = 30) -> States:
    """Items as a graph could have them, dates after the clock and unknown ones included."""
    n = draw(st.integers(least, most))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = random.integers(0, max(n, 1), (random.integers(0, 3 * n + 1), 2))
    count = random.integers(0, 6, n) * random.integers(0, 2, n)
    accessed = np.array([days_ago(d) for d in random.uniform(-50, 900, n)], "datetime64[us]")
    created = np.array([days_ago(d) for d in random.uniform(-50, 900, n)], "datetime64[us]")
    created[random.random(n) < 0.1] = NEVER
    vectors = random.normal(size=(n, 4))
    return states(
        n,
        created_at=created,
        last_accessed_at=np.where((count > 0) & (random.random(n) < 0.9), accessed, NEVER),
        access_count=count,
        turns_at_creation=np.sort(random.integers(0, CLOCK.turns + 1, n)),
        turns_at_last_access=np.where(count > 0, random.integers(0, CLOCK.turns + 1, n), -1),
        degree=np.bincount(edges.ravel(), minlength=n)[:n] if n else np.zeros(0),
        label=random.integers(0, 4, n),
        bytes=random.integers(1, 1000, n),
        edges=edges if n else np.zeros((0, 2)),
        vectors=vectors / np.linalg.norm(vectors, axis=1, keepdims=True) if n else vectors,
    )
