"""The figure of the ranking study, drawn from the table of a finished run."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from results.ranking_figure import sizes_figure


def draw_ranking(folder: Path) -> list[Path]:
    """Draw quality and costs by size of the store as PNG and SVG; nothing without sizes or the extra that draws."""
    path = folder / "ranking_sizes.parquet"
    if find_spec("matplotlib") is None or not path.exists():
        return []
    return list(sizes_figure(pd.read_parquet(path), folder / "figures" / "ranking_sizes"))
