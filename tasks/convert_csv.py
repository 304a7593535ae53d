"""Reading a table of turns: text with a header that names the columns `speaker` and `text`, and perhaps others."""

from __future__ import annotations

import csv
import io
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from memory.errors import BadInput
from tasks.benchmarks.own import OwnTurn
from tasks.benchmarks.reading import checked, shortened, whole_text

COLUMNS = {
    "speaker": "speaker",
    "text": "text",
    "date": "date",
    "session": "session",
    "conversation": "history",
    "caption": "caption",
}
"""The columns that are read, in any order and in upper or lower case, with the fields that they become."""
_DELIMITERS = ",;\t|"
_LONGEST_FIELD = 1 << 30
_limit = threading.Lock()


def csv_lines(path: Path, left_out: Counter[str]) -> tuple[str, list[tuple[str, OwnTurn]]]:
    """The form of a table, and its turns as lines of benchmark `own`.

    Args:
        path: The table, in UTF-8; what divides its columns is found out from its header.
        left_out: Counts columns that are none of those known, and rows without text.

    Raises:
        BadInput: If it has no header with `speaker` and `text`, a row has more or fewer fields, or one has a fault.
    """
    text = whole_text(path)
    delimiter = _delimiter(text.lstrip().partition("\n")[0])
    with _long_fields():
        rows = _rows(path, text, delimiter)
        _, header = next(rows, ("", []))
        names = [name.strip().lower() for name in header]
        if not {"speaker", "text"} <= set(names) or len(set(names)) < len(names):
            raise BadInput(
                f"{path}: line 1: no header with the columns speaker and text, each once: {_shown(header)}"
            )
        for name in names:
            if name not in COLUMNS:
                left_out[f"column {shortened(name)}"] += 1
        return f"a table divided by {delimiter!r}", list(_turns(rows, names, left_out))


def _turns(
    rows: Iterator[tuple[str, list[str]]], names: list[str], left_out: Counter[str]
) -> Iterator[tuple[str, OwnTurn]]:
    for where, row in rows:
        if not row:
            continue
        if len(row) != len(names):
            raise BadInput(
                f"{where}: {len(row)} fields under {len(names)} columns; quote what holds the delimiter"
            )
        said = {COLUMNS[name]: cell for name, cell in zip(names, row, strict=True) if name in COLUMNS}
        if not said["text"].strip():
            left_out["rows without text"] += 1
            continue
        fields = {name: cell for name, cell in said.items() if name == "text" or cell.strip()}
        yield where, checked(OwnTurn, fields, where)


def _rows(path: Path, text: str, delimiter: str) -> Iterator[tuple[str, list[str]]]:
    """The rows of a table, each with the line at which it ends."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        for row in reader:
            yield f"{path}: line {reader.line_num}", row
    except csv.Error as error:
        raise BadInput(
            f"{path}: line {reader.line_num}: no row of a table ({error}); correct the line"
        ) from error


def _delimiter(header: str) -> str:
    try:
        return csv.Sniffer().sniff(header, _DELIMITERS).delimiter
    except csv.Error:
        return ","


@contextmanager
def _long_fields() -> Iterator[None]:
    """Let a field be longer than the 131,072 characters that the library allows for the whole process."""
    with _limit:
        before = csv.field_size_limit(_LONGEST_FIELD)
        try:
            yield
        finally:
            csv.field_size_limit(before)


def _shown(header: list[str]) -> str:
    return shortened(", ".join(header))
