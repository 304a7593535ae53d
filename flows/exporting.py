"""`palimpsest export RUN`: a run's tables for people, and `list columns`: what they mean."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from pathlib import Path

from rich.text import Text

from flows.console import console
from flows.plain import say
from memory.errors import BadInput
from results.export import FOR_PAPERS, ROWS_OF_A_SHEET, chosen, to_csv, to_latex, to_xlsx, too_long
from results.loading import LoadedRun, load_run


def export(run: Path, csv: Path | None, xlsx: Path | None, latex: Path | None, tables: Sequence[str]) -> None:
    """Write a run's tables where they are wanted, and say which files were written.

    Args:
        run: The run folder.
        csv: A folder for one file a table.
        xlsx: A workbook.
        latex: A folder for one file a table of the paper.
        tables: The tables to write; none are all that somebody may read.

    Raises:
        BadInput: If nothing is wanted, or the run or a table is not there.
    """
    if csv is xlsx is latex is None:
        raise BadInput("export: say where to: --csv DIR, --xlsx FILE or --latex DIR")
    loaded = _loaded(run)
    names = chosen(loaded, tables)
    written: list[Path] = []
    try:
        if csv is not None:
            written += to_csv(loaded, csv, names)
        if xlsx is not None:
            written.append(to_xlsx(loaded, xlsx, names if tables else _of_a_sheet(loaded, names)))
        if latex is not None:
            written += to_latex(
                loaded, latex, names if tables else [name for name in FOR_PAPERS if name in names]
            )
    except OSError as error:
        raise BadInput(f"export: {error.filename or run} cannot be written ({error.strerror})") from error
    for path in written:
        console.print(Text(str(path)), soft_wrap=True)


def _of_a_sheet(run: LoadedRun, names: Sequence[str]) -> list[str]:
    """Without tables that no sheet holds, each of them named to the user."""
    left_out = too_long(run, names)
    for name in left_out:
        say(
            f"note: {name} has more than the {ROWS_OF_A_SHEET:,} rows of a sheet, and is left out; --csv writes it"
        )
    return [name for name in names if name not in left_out]


def _loaded(run: Path) -> LoadedRun:
    """The run; what warns a program is a line for a person."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        loaded = load_run(run)
    for warning in caught:
        say(f"note: {warning.message}")
    return loaded
