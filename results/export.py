"""A run's tables for people: as CSV, as one workbook, as LaTeX.

Texts come from conversations and models that nobody vouches for. A text that a spreadsheet would take for a formula
gets an apostrophe before it, in CSV and in workbooks alike; numbers stay numbers. Lists and records are JSON, dates
ISO 8601 in UTC, and what is missing is an empty cell.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as arrow_csv

from memory.errors import BadInput
from results import rendering
from results.columns import Column, documented
from results.loading import LoadedRun
from results.tables import write_bytes, written_whole
from results.use_time_text import TEXTS

FOR_PROGRAMS = frozenset({"vectors", "paper_text", "frontier_rows", "forgetting_periodic"})
"""Tables of which nobody reads a row; they are exported if they are named."""
FOR_PAPERS = (
    "table_1",
    "table_2",
    "table_3",
    "table_5",
    "table_6",
    "table_7",
    "noninferiority",
    "storage",
    *TEXTS,
)
"""Tables short enough for a page of LaTeX."""
ROWS_OF_A_SHEET = 1_048_576 - 1
_LONGEST = 32_767  # UTF-16 units that a cell of a workbook holds
_EXACT = 2**53  # a workbook's numbers are doubles
_BATCH = 1_000
_RATIOS = frozenset({"share", "probability", "cosine", ""})

# A spreadsheet may skip blanks, control and invisible characters before the sign that starts a formula; full-width
# signs count as signs in some locales.
_SKIPPED = r"[\s\x{0}-\x{1f}\x{7f}-\x{a0}\x{200b}-\x{200f}\x{2028}-\x{202f}\x{2060}\x{3000}\x{feff}]"
_FORMULA = rf"^({_SKIPPED}*[=+\-@＝＋－＠\t\r\n])"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def chosen(run: LoadedRun, wanted: Sequence[str] = ()) -> list[str]:
    """The tables to export: those wanted, else all that somebody may read, in the order in which they are documented.

    Raises:
        BadInput: If one is not there.
    """
    there = [name for name in documented() if name in run.names]
    missing = [name for name in wanted if name not in there]
    if missing:
        raise BadInput(f"{run.folder} has no table {missing[0]!r}; it has {', '.join(there)}")
    return [name for name in there if name in wanted or (not wanted and name not in FOR_PROGRAMS)]


def cells(table: pa.Table) -> pa.Table:
    """A table with texts, numbers and truth values alone, none of them a formula."""
    return pa.table({name: _cells(table[name]) for name in table.column_names})


def _cells(column: pa.ChunkedArray[Any]) -> Any:
    kind = column.type
    if pa.types.is_nested(kind):
        values = [None if value is None else _json(value) for value in column.to_pylist()]
        return pa.array(values, pa.string())
    if pa.types.is_timestamp(kind):
        return pc.strftime(column, "%Y-%m-%dT%H:%M:%SZ")
    if pa.types.is_floating(kind):
        return pc.if_else(pc.is_nan(column), pa.scalar(None, kind), column)
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return pc.replace_substring_regex(column, _FORMULA, r"'\1", max_replacements=1)
    return column


def _json(value: Any) -> str:
    """A list or record; it begins with a bracket, and so is never a formula."""
    return json.dumps(value, ensure_ascii=False, default=datetime.isoformat)


def to_csv(run: LoadedRun, folder: Path, names: Sequence[str]) -> list[Path]:
    """Write each table as `<name>.csv`: UTF-8, commas, every text quoted; and what the columns mean."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for name in names:
        written.append(_csv(folder / f"{name}.csv", cells(run.arrow(name))))
    return [*written, _csv(folder / "columns.csv", _meanings(names))]


def _csv(path: Path, table: pa.Table) -> Path:
    with written_whole(path) as beside:
        arrow_csv.write_csv(table, beside)
    return path


def _meanings(names: Sequence[str]) -> pa.Table:
    """What the columns of these tables mean, as a table."""
    rows = [
        {"table": name, "column": c.name, "type": c.type, "unit": c.unit, "meaning": c.meaning}
        for name in names
        for c in documented()[name].columns
    ]
    return pa.Table.from_pylist(rows)


def too_long(run: LoadedRun, names: Sequence[str]) -> list[str]:
    """Those of the tables that have more rows than a sheet of a workbook."""
    return [name for name in names if run.rows(name) > ROWS_OF_A_SHEET]


def to_xlsx(run: LoadedRun, file: Path, names: Sequence[str]) -> Path:
    """Write the tables as the sheets of one workbook, after a sheet that says what the columns mean.

    A workbook keeps 16 digits of a number; one beyond 2^53 is a text.

    Raises:
        BadInput: If the extra `xlsx` is not installed, or a table has more rows than a sheet.
    """
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise BadInput("--xlsx needs xlsxwriter: pip install 'palimpsest[xlsx]'") from error
    for name in too_long(run, names):
        raise BadInput(
            f"table {name} has more than the {ROWS_OF_A_SHEET:,} rows of a sheet: export it with --csv"
        )
    with written_whole(file) as beside, Workbook(str(beside), {"constant_memory": True}) as book:
        bold = book.add_format({"bold": True})
        _fill(book.add_worksheet("columns"), _meanings(names), bold)
        for name in names:
            _fill(book.add_worksheet(name), cells(run.arrow(name)), bold)
    return file


def _fill(sheet: Any, table: pa.Table, bold: Any) -> None:
    sheet.freeze_panes(1, 0)
    for column, title in enumerate(table.column_names):
        sheet.write_string(0, column, title, bold)
    number = 0
    for batch in table.to_batches(max_chunksize=_BATCH):
        for number, row in enumerate(batch.to_pylist(), start=number + 1):  # noqa: B020
            for column, value in enumerate(row.values()):
                _write(sheet, number, column, value)


def _write(sheet: Any, row: int, column: int, value: str | float | None) -> None:
    if isinstance(value, bool):
        sheet.write_boolean(row, column, value)
    elif isinstance(value, int | float) and math.isfinite(value) and abs(value) <= _EXACT:
        sheet.write_number(row, column, value)
    elif value is not None and value != "":
        sheet.write_string(row, column, shortened(str(value)))


def shortened(text: str) -> str:
    """A text as a workbook can hold it: without what XML forbids, and cut with a note where it is too long."""
    allowed = _NOT_XML.sub("", text)
    units = allowed.encode("utf-16-le")
    if len(units) <= 2 * _LONGEST:
        return allowed
    note = f" … [cut here: {len(allowed):,} characters, all of them in the Parquet file]"
    return units[: 2 * (_LONGEST - len(note))].decode("utf-16-le", errors="ignore") + note


def to_latex(run: LoadedRun, folder: Path, names: Sequence[str]) -> list[Path]:
    """Write each table as `<name>.tex`, and `tables.tex`, a document that shows them all.

    The papers' tables are as the run wrote them; others show their numbers. They need the package booktabs.
    """
    texts = {row["table"]: row["latex"] for row in run.arrow("paper_text").to_pylist()}
    texts |= {name: TEXTS[name](run.arrow(name).to_pandas()).latex() for name in names if name in TEXTS}
    written = []
    for name in names:
        text = texts.get(name) or _latex(run.arrow(name), name)
        write_bytes(folder / f"{name}.tex", text.encode())
        written.append(folder / f"{name}.tex")
    inputs = "\n".join(rf"\input{{{name}}}" for name in names)
    document = (
        "\\documentclass{article}\n\\usepackage{booktabs}\n\\usepackage[a3paper,landscape,margin=1cm]{geometry}\n"
        f"\\begin{{document}}\n{inputs}\n\\end{{document}}\n"
    )
    write_bytes(folder / "tables.tex", document.encode())
    return [*written, folder / "tables.tex"]


def _latex(table: pa.Table, name: str) -> str:
    about = documented()[name]
    rows = [
        [_shown(value, about.column(column)) for column, value in row.items()] for row in table.to_pylist()
    ]
    return rendering.latex(table.column_names, rows, about.about, f"tab:{name}")


def _shown(value: Any, column: Column | None) -> str:
    """Shares with three digits, counts with thousands: one that may be missing is a double on disk."""
    if value is None or value == "":
        return "–"
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if math.isnan(value):
        return "–"
    return (
        rendering.number(value)
        if column and column.unit in _RATIOS and isinstance(value, float)
        else f"{value:,.0f}"
    )
