"""A run's tables for people: as CSV, as one workbook, as LaTeX.

Texts come from conversations and models that nobody vouches for. A text that a spreadsheet would take for a formula
gets an apostrophe before it, in CSV and in workbooks alike; numbers stay numbers. Lists and records are JSON, dates
ISO 8601 in UTC, and what is missing is an empty cell.
"""

from __future__ import annotations

import csv
import json
import math
import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from memory.errors import BadInput
from results import rendering
from results.columns import documented
from results.loading import LoadedRun
from results.tables import write_bytes, written_whole

Cell = str | int | float | bool | None

FOR_PROGRAMS = frozenset({"vectors", "paper_text"})
"""Tables of which nobody reads a row; they are exported if they are named."""
FOR_PAPERS = ("table_1", "table_2", "table_5", "table_6", "table_7", "noninferiority", "storage")
"""Tables short enough for a page of LaTeX."""
ROWS_OF_A_SHEET = 1_048_576 - 1
_LONGEST = 32_767  # UTF-16 units that a cell of a workbook holds
_EXACT = 2**53  # a workbook's numbers are doubles
_BATCH = 1_000

# A spreadsheet may skip blanks, control and invisible characters before the sign that starts a formula; full-width
# signs count as signs in some locales.
_FORMULA = re.compile(r"[\s\x00-\x1f\x7f\u200b-\u200f\u2060\ufeff]*[=+\-@＝＋－＠]|[\t\r\n]")
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def chosen(run: LoadedRun, wanted: Sequence[str] = ()) -> list[str]:
    """The tables to export: those wanted, else all that somebody may read, in the order in which they are documented.

    Raises:
        BadInput: If one is not there.
    """
    missing = [name for name in wanted if name not in run.names or name not in documented()]
    if missing:
        raise BadInput(f"{run.folder} has no table {missing[0]!r}; it has {', '.join(run.names)}")
    return [
        name
        for name in documented()
        if (name in wanted if wanted else name in run.names and name not in FOR_PROGRAMS)
    ]


def cell(value: Any) -> Cell:
    """A value of a table as what may stand in a spreadsheet's cell."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None if math.isnan(value) else str(value)
    if isinstance(value, datetime):
        return value.isoformat()
    text = (
        value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=datetime.isoformat)
    )
    return f"'{text}" if _FORMULA.match(text) else text


def _rows(table: pa.Table) -> Iterator[list[Cell]]:
    for batch in table.to_batches(max_chunksize=_BATCH):
        for row in batch.to_pylist():
            yield [cell(value) for value in row.values()]


def to_csv(run: LoadedRun, folder: Path, names: Sequence[str]) -> list[Path]:
    """Write each table as `<name>.csv`: UTF-8, commas, every text quoted; and what the columns mean."""
    written = []
    for name in names:
        table = run.arrow(name)
        written.append(_csv(folder / f"{name}.csv", table.column_names, _rows(table)))
    return [*written, _csv(folder / "columns.csv", _MEANINGS, _meanings(names))]


def _csv(path: Path, header: Sequence[str], rows: Iterable[Sequence[Cell]]) -> Path:
    with written_whole(path) as beside, beside.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        writer.writerow(header)
        for row in rows:
            writer.writerow([str(value).lower() if isinstance(value, bool) else value for value in row])
    return path


_MEANINGS = ("table", "column", "type", "unit", "meaning")


def _meanings(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    for name in names:
        for column in documented()[name].columns:
            yield name, column.name, column.type, column.unit, column.meaning


def to_xlsx(run: LoadedRun, file: Path, names: Sequence[str]) -> Path:
    """Write the tables as the sheets of one workbook, after a sheet that says what the columns mean.

    Raises:
        BadInput: If the extra `xlsx` is not installed, or a table has more rows than a sheet.
    """
    try:
        from xlsxwriter import Workbook
    except ImportError as error:
        raise BadInput("--xlsx needs xlsxwriter: pip install 'palimpsest[xlsx]'") from error
    tables = {name: run.arrow(name) for name in names}
    for name, table in tables.items():
        if table.num_rows > ROWS_OF_A_SHEET:
            raise BadInput(
                f"table {name} has {table.num_rows:,} rows and a sheet {ROWS_OF_A_SHEET:,}: export it with --csv, "
                "or name other tables with --table"
            )
    with written_whole(file) as beside, Workbook(str(beside), {"constant_memory": True}) as book:
        bold = book.add_format({"bold": True})
        _fill(book.add_worksheet("columns"), _MEANINGS, _meanings(names), bold)
        for name, table in tables.items():
            _fill(book.add_worksheet(name), table.column_names, _rows(table), bold)
    return file


def _fill(sheet: Any, header: Sequence[str], rows: Iterable[Sequence[Cell]], bold: Any) -> None:
    sheet.freeze_panes(1, 0)
    for column, title in enumerate(header):
        sheet.write_string(0, column, title, bold)
    for number, row in enumerate(rows, start=1):
        for column, value in enumerate(row):
            if isinstance(value, bool):
                sheet.write_boolean(number, column, value)
            elif isinstance(value, int | float) and abs(value) <= _EXACT:
                sheet.write_number(number, column, value)
            elif value is not None and value != "":
                sheet.write_string(number, column, shortened(str(value)))


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

    The paper's tables are as the run wrote them; others show their numbers as they are. They need booktabs.
    """
    texts = {row["table"]: row["latex"] for row in run.arrow("paper_text").to_pylist()}
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
    rows = [[_shown(value) for value in row.values()] for row in table.to_pylist()]
    return rendering.latex(table.column_names, rows, documented()[name].about, f"tab:{name}")


def _shown(value: Any) -> str:
    if isinstance(value, float) and value.is_integer():  # a count that may be missing is a double on disk
        return f"{value:,.0f}"
    if isinstance(value, float):
        return rendering.number(value)
    if value is None or isinstance(value, str):
        return value or "–"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value).lower()
