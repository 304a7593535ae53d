"""The figure of the association study, drawn from the table of a finished run."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from results.association_figure import evidence_figure


def draw_association(folder: Path) -> list[Path]:
    """Draw evidence by words of context as PNG and SVG; nothing where the extra that draws is not installed."""
    path = folder / "evidence_by_words.parquet"
    if find_spec("matplotlib") is None or not path.exists():
        return []
    return list(evidence_figure(pd.read_parquet(path), folder / "figures" / "evidence_by_words"))
