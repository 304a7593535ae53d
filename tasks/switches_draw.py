"""The figures of a study that explains itself, drawn from the tables of a finished run."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from results import switches_figures
from results.waterfall_figure import waterfall_figure


def draw_switches(folder: Path, to: Path | None = None) -> list[Path]:
    """Draw what the switches are worth, what the sweep found and where answers were lost, as PNG and SVG.

    Args:
        folder: The run folder.
        to: A folder for the figures; by default `figures/` of the run folder.

    Raises:
        BadInput: If the extra that draws is not installed.
    """
    to = to or folder / "figures"
    switches = pd.read_parquet(folder / "switches.parquet")
    sweep = pd.read_parquet(folder / "sweep.parquet")
    lost = pd.read_parquet(folder / "waterfall_types.parquet")
    return [
        *switches_figures.forest(switches, to / "switches"),
        *switches_figures.sweep(sweep, to / "sweep"),
        *waterfall_figure(lost, to / "waterfall"),
    ]
