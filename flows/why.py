"""`palimpsest why RUN NODE`: one node's fate, in words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
from rich.text import Text

from flows.console import console
from memory.errors import BadInput

_TERMS = ("recency", "frequency", "centrality", "turns")


def print_why(folder: Path, node: str) -> None:
    """Print what became of a node in every arm of a forgetting run, and why.

    Args:
        folder: The run folder.
        node: A node's id, or its title in any case; a title may name several nodes.

    Raises:
        BadInput: If the run has no forgetting table, or the node is not in it.
    """
    path = folder / "forgetting.parquet"
    if not path.exists():
        raise BadInput(f"{folder} has no forgetting table: `palimpsest run forgetting` makes one")
    table = pd.read_parquet(path)
    found = table[(table["id"] == node) | (table["title"].str.casefold() == node.casefold())]
    if found.empty:
        raise BadInput(f"{folder}: no node has the id or the title {node!r}")
    for (arm, _), rows in found.groupby(["arm", "id"], sort=False):
        for row in rows.to_dict("records"):
            console.print(
                Text(explained(str(arm), {str(k): v for k, v in row.items()}, table)), soft_wrap=True
            )


def explained(arm: str, row: dict[str, Any], table: pd.DataFrame) -> str:
    """One node's fate in one arm, as a sentence or two."""
    peers = table[table["arm"] == arm]["score"]
    below = int((peers < row["score"]).sum())
    said = [
        f"{arm}: {row['label']} {row['title']!r} ({row['id']}) was {row['fate']}.",
        f"Its score of {row['score']:.4f} is above that of {below:,} of {len(peers):,} nodes.",
    ]
    terms = [f"{name} {row[name]:.3f}" for name in _TERMS if name in row and pd.notna(row[name])]
    if terms:
        said.append(f"Its terms are {', '.join(terms)}, of degree {int(row['degree'])}.")
    return " ".join(said)
