"""What memories of one's own conversations come to, summed over histories: a row a condition, for people."""

from __future__ import annotations

import math

import pandas as pd

CAPTION = "Memories, summed over histories; items after each quarter of their sessions"
HEADER = (
    "condition",
    "histories",
    "turns",
    "items",
    "edges",
    "kB",
    "items by quarter",
    "found again by title",
    "by similarity",
    "near-duplicates left",
)
_QUARTERS = (0.25, 0.5, 0.75, 1.0)


def size_rows(sizes: pd.DataFrame, growth: pd.DataFrame) -> list[tuple[str, ...]]:
    """Cells under `HEADER` of the tables `history_sizes` and `history_growth`.

    A history whose memory could not be built is not counted. What a memory does not know, one that merges nothing for
    example how often it found a node again, is a dash.
    """
    rows = []
    for condition, own in sizes[sizes["status"] == "ok"].groupby("condition", sort=False):
        curve = growth[growth["condition"] == condition]
        found = ("found_by_title", "found_by_similarity", "near_duplicates")
        rows.append(
            (
                str(condition),
                f"{len(own):,}",
                *(_sum(own[name]) for name in ("turns", "items", "edges")),
                f"{own['bytes'].sum() / 1000:,.1f}",
                _by_quarter(curve),
                *(_sum(own[name]) for name in found),
            )
        )
    return rows


def _sum(values: pd.Series) -> str:
    there = values.dropna()
    return f"{int(there.sum()):,}" if len(there) else "–"


def _by_quarter(curve: pd.DataFrame) -> str:
    held = dict.fromkeys(_QUARTERS, 0)
    for _, points in curve.groupby("history", sort=False):
        items = points["items"].tolist()  # in the order in which the sessions were heard
        for quarter in _QUARTERS:
            held[quarter] += int(items[math.ceil(quarter * len(items)) - 1])
    return " → ".join(f"{number:,}" for number in held.values())
