"""The command `calibrate`: what similarity means to an embedder, as a table, a file of thresholds, and a curve."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
from rich import box
from rich.table import Table

from flows.console import console
from flows.json_output import print_json
from memory.calibration import CALIBRATED, Thresholds
from memory.errors import BadInput
from results import tables
from results.calibration import FALSE_MERGE_COST, KEPT, Choice
from results.calibration_figure import draw_curve
from results.rendering import interval
from tasks.calibrate import Calibration, calibrate

_AROUND = (-0.08, -0.06, -0.04, -0.02, 0.0, 0.02, 0.04)
"""Thresholds that are printed, from the recommended one."""
_TITLES = {
    "dedup": ("De-duplication", "same entity, merged", "other entity, merged"),
    "floor": ("Retrieval floor", "asked for, kept", "beside it, let in"),
}
_RULES = {
    "dedup": f"chosen where a false merge costs {FALSE_MERGE_COST} missed ones",
    "floor": f"the highest that keeps {KEPT:.0%} of the nodes asked for",
}


def print_calibration(
    embedder: str, store: Path, to: Path | None, curve: Path | None, *, as_json: bool
) -> None:
    """Probe an embedder, print what its thresholds do, and write what is asked for.

    Args:
        embedder: `provider:model`.
        store: Folder of calls that all runs share.
        to: File of the thresholds, for `run --thresholds`.
        curve: Folder of `calibration.parquet`, `calibration_pairs.parquet` and the figure.
        as_json: Print JSON instead of tables.

    Raises:
        BadInput: If the embedder cannot be asked, or a file cannot be written.
        CallRefused: If a text could not be embedded.
    """
    made = calibrate(embedder, store)
    if as_json:
        print_json(_record(made))
    else:
        for purpose, chosen in (("dedup", made.dedup), ("floor", made.floor)):
            console.print(_table(made, purpose, chosen))
        for line in _remarks(made):
            console.print(line, soft_wrap=True)
    try:
        if to is not None:
            tables.write_bytes(to, made.found.toml().encode())
        if curve is not None:
            _write_curve(made, curve)
    except OSError as error:
        raise BadInput(f"{error.filename}: cannot be written ({error.strerror})") from error


def _write_curve(made: Calibration, folder: Path) -> None:
    for name, frame in (("calibration", made.curve), ("calibration_pairs", made.pairs)):
        rows = pa.Table.from_pandas(frame, preserve_index=False)
        tables.write(folder / f"{name}.parquet", rows, {"embedder": made.found.embedder})
    draw_curve(made.curve, folder / "calibration", made.found.dedup, made.found.floor)


def _table(made: Calibration, purpose: str, chosen: Choice) -> Table:
    title, kept, let_in = _TITLES[purpose]
    rows = made.curve[made.curve["purpose"] == purpose]
    shown = {round(chosen.threshold + step, 2) for step in _AROUND}
    if (known := _built_in(made)) is not None:
        shown.add(known.dedup if purpose == "dedup" else known.floor)
    table = Table(title=f"{title}: {made.found.embedder}", box=box.SIMPLE_HEAD)
    for header in ("threshold", f"choosing half: {kept}", let_in, f"reported half: {kept}", let_in, ""):
        table.add_column(header, justify="left" if not header else "right")
    halves = [rows[rows["half"] == half].set_index("threshold") for half in ("choose", "report")]
    for threshold in halves[0].index[halves[0].index.isin(shown)]:
        cells = [cell for half in halves for cell in _cells(half.loc[threshold])]
        mark = "recommended" if threshold == chosen.threshold else ""
        table.add_row(f"{threshold:.2f}", *cells, mark)
    return table


def _cells(row: pd.Series[Any]) -> tuple[str, str]:
    return (
        f"{row['kept']}/{row['matches']} {interval(row['kept_low'], row['kept_high'])}",
        f"{row['let_in']}/{row['others']} {interval(row['let_in_low'], row['let_in_high'])}",
    )


def _built_in(made: Calibration) -> Thresholds | None:
    return CALIBRATED.get(made.found.embedder.split(":")[1])


def _remarks(made: Calibration) -> Iterator[str]:
    for name, chosen in (("dedup", made.dedup), ("floor", made.floor)):
        spread = f"{chosen.low:.2f} to {chosen.high:.2f} over resampled families"
        yield f"recommended {name}: {chosen.threshold:.2f} ({spread}), {_RULES[name]}"
    found = made.found
    yield (
        f"chosen on {found.dedup_pairs} descriptor and {found.floor_pairs} question pairs; the reported half has other "
        "families, and had no say"
    )
    known = _built_in(made)
    told = "none" if known is None else f"dedup {known.dedup:.2f}, floor {known.floor:.2f} ({known.basis})"
    yield f"built in for this embedder: {told}"
    yield f"calls: {made.spent.paid:,} made, {made.spent.replayed:,} replayed, {made.spent.usd:.4f} dollars"


def _record(made: Calibration) -> dict[str, Any]:
    known = _built_in(made)
    return {
        **made.found.model_dump(),
        "choice": {"dedup": asdict(made.dedup), "floor": asdict(made.floor)},
        "rules": _RULES,
        "built_in": None if known is None else asdict(known),
        "curve": made.curve.to_dict("records"),
        "calls": asdict(made.spent),
    }
