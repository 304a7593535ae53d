"""The figures that follow from one table each, drawn from whatever tables a finished run has left."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path

import pandas as pd

from results.association_figure import evidence_figure
from results.figures import Files
from results.ranking_figure import sizes_figure, tag_noise_figure
from results.use_time_figures import ablations_figure, joint_figure, rate_distortion_figure

_FIGURES: Mapping[str, tuple[str, Callable[[pd.DataFrame, Path], Files]]] = {
    "evidence_by_words": ("evidence_by_words", evidence_figure),
    "use_time": ("rate_distortion", rate_distortion_figure),
    "ablations": ("ablations", ablations_figure),
    "joint": ("storage_by_use", joint_figure),
    "ranking_sizes": ("ranking_sizes", sizes_figure),
    "ranking_tag_noise": ("ranking_tag_noise", tag_noise_figure),
}
"""By table, the name of its figure and what draws it."""


def draw_tables(folder: Path) -> list[Path]:
    """Draw each table that is there as PNG and SVG; nothing where the extra that draws is not installed."""
    drawn: list[Path] = []
    if find_spec("matplotlib") is None:
        return drawn
    for table, (name, figure) in _FIGURES.items():
        path = folder / f"{table}.parquet"
        if path.exists():
            drawn += figure(pd.read_parquet(path), folder / "figures" / name)
    return drawn
