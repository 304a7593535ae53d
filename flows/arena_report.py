"""What a run on MemoryArena prints: rewards by step beside the printed ones, and the gain over the full context."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from flows.console import as_table, print_table
from results.arena import arena_text


def print_arena(folder: Path) -> None:
    """Print the rewards by step, if the run has them."""
    if (folder / "arena_steps.parquet").exists():
        steps, slopes = (
            pd.read_parquet(folder / f"{name}.parquet") for name in ("arena_steps", "arena_slopes")
        )
        print_table(as_table(arena_text(steps, slopes)))
