"""Per-question rows from wherever they lie: a file of somebody's results, or the `metrics` table of a run.

Whatever the source, one row a question comes out, with the columns of `COLUMNS`, and notes that say what was
left out.
"""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, ValidationError, field_validator

from memory.errors import BadInput

METRICS = ("f1", "precision", "recall", "judge")
COLUMNS = ("question", "history", "type", "condition", "abstention", "reference", *METRICS)
NAMED = 3
"""How many ids a note names before it only counts."""

_TYPE_CODES = {
    "su": "single-session-user",
    "sa": "single-session-assistant",
    "sp": "single-session-preference",
    "ku": "knowledge-update",
    "ms": "multi-session",
    "tr": "temporal-reasoning",
}


@dataclass(frozen=True, slots=True)
class QuestionRows:
    """The rows of one condition.

    Attributes:
        name: What tables call it: the condition, else the file's name without its ending.
        frame: One row a question, with the columns of `COLUMNS`; a figure that is missing is NaN.
        failed: Questions of the source that have no good row, in its order; they have no row in `frame`.
        notes: What was dropped or kept, one sentence each.
    """

    name: str
    frame: pd.DataFrame
    failed: tuple[str, ...]
    notes: tuple[str, ...]


class _Row(BaseModel):
    """One row as a source has it: under our names, or those of the published results."""

    model_config = ConfigDict(extra="ignore", coerce_numbers_to_str=True, populate_by_name=True)

    question: str = Field(validation_alias=AliasChoices("question", "question_id", "id"), min_length=1)
    history: str | None = None
    type: str | None = Field(
        None, validation_alias=AliasChoices("type", "question_type", "question_type_code")
    )
    condition: str | None = None
    abstention: bool | None = None
    reference: str | None = Field(None, validation_alias=AliasChoices("reference", "ground_truth"))
    f1: float | None = Field(ge=0, le=1)
    precision: float | None = Field(ge=0, le=1)
    recall: float | None = Field(ge=0, le=1)
    judge: float | None = Field(None, validation_alias=AliasChoices("judge", "judge_correct"), ge=0, le=1)
    status: str | None = None
    predicted: object = None
    error: object = None
    error_flag: bool = False

    @field_validator("*", mode="before")
    @classmethod
    def _blank_is_missing(cls, value: object) -> object:
        """An empty csv cell and a NaN both say that there is nothing."""
        return None if value == "" or (isinstance(value, float) and math.isnan(value)) else value

    @field_validator("reference", mode="before")
    @classmethod
    def _reference_as_text(cls, value: object) -> object:
        """Numbers and lists of accepted answers are compared as they are written."""
        return None if value is None else str(value)

    @field_validator("error_flag", mode="before")
    @classmethod
    def _no_flag_is_false(cls, value: object) -> object:
        return value or False

    @property
    def is_error(self) -> bool:
        """Whether the row stands for a failure, whose zeros are no scores."""
        return (
            self.error_flag or self.status == "failed" or (self.predicted is None and self.error is not None)
        )

    @property
    def is_abstention(self) -> bool:
        """As the source says; else as LongMemEval marks its unanswerable questions."""
        return self.question.endswith("_abs") if self.abstention is None else self.abstention


def read_question_rows(source: str) -> QuestionRows:
    """Read the rows of one condition.

    Args:
        source: A `.jsonl`, `.csv` or `.parquet` file or a run folder (which holds `metrics.parquet`); with
            `:CONDITION` after it where it holds several conditions.

    Raises:
        BadInput: If there is no such source, a row cannot be read, a condition is not there or not clearly
            named, or a question has two good rows.
    """
    path, condition = _locate(source)
    rows = list(_parsed(path))
    held = list(dict.fromkeys(row.condition for row in rows))
    if condition is None and len(held) > 1:
        named = ", ".join(str(name) for name in held)
        raise BadInput(f"{path}: holds the conditions {named}; name one of them, as {source}:{held[0]}")
    if condition is not None and condition not in held:
        named = ", ".join(str(name) for name in held if name is not None) or "none"
        raise BadInput(f"{path}: has no condition {condition!r}; it holds: {named}")
    chosen = [row for row in rows if condition is None or row.condition == condition]
    name = next((row.condition for row in chosen if row.condition), Path(path).name.partition(".")[0])
    return _one_row_a_question(chosen, path, name)


def name_some(ids: Iterable[str]) -> str:
    """The first few ids, and how many more there are."""
    every = list(ids)
    more = f" and {len(every) - NAMED} more" if len(every) > NAMED else ""
    return ", ".join(every[:NAMED]) + more


def counted(number: int, noun: str) -> str:
    """`1 question`, `2 questions`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def _locate(source: str) -> tuple[Path, str | None]:
    """The file that holds the rows, and the condition named after it."""
    path, condition = Path(source), None
    if not path.exists() and ":" in source:
        before, _, condition = source.rpartition(":")
        path = Path(before)
    if not path.exists():
        raise BadInput(f"{path}: no such file or run folder")
    if path.is_dir():
        path = path / "metrics.parquet"
        if not path.exists():
            raise BadInput(f"{path.parent}: no metrics.parquet in it; give a run folder, or a file of rows")
    return path, condition


def _parsed(path: Path) -> Iterator[_Row]:
    readers = {".jsonl": _json_lines, ".csv": _csv_lines, ".parquet": _parquet_rows}
    reader = readers.get(path.suffix)
    if reader is None:
        raise BadInput(f"{path}: rows are read from {', '.join(readers)} files")
    empty = True
    for place, raw in reader(path):
        empty = False
        try:
            yield _Row.model_validate(raw)
        except ValidationError as fault:
            first = fault.errors(include_url=False)[0]
            column = first["loc"][0] if first["loc"] else "row"
            raise BadInput(
                f"{path}, {place}: {column}: {first['msg']}; each row needs an id (question or question_id), "
                "f1, precision and recall"
            ) from None
    if empty:
        raise BadInput(f"{path}: holds no rows")


def _json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield f"line {number}", json.loads(line)
        except json.JSONDecodeError as fault:
            raise BadInput(
                f"{path}, line {number}: not JSON ({fault.msg}); each line is one object"
            ) from None
        except UnicodeDecodeError:
            raise BadInput(f"{path}: is not UTF-8 text") from None


def _csv_lines(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        reader = csv.DictReader(lines)
        try:
            for row in reader:
                yield f"line {reader.line_num}", row
        except (csv.Error, UnicodeDecodeError) as fault:
            raise BadInput(f"{path}, line {reader.line_num}: is not csv in UTF-8 ({fault})") from None


def _parquet_rows(path: Path) -> Iterator[tuple[str, Any]]:
    try:
        table = pq.read_table(path)
    except (pa.ArrowInvalid, OSError) as fault:
        raise BadInput(f"{path}: is not a whole Parquet file ({str(fault).splitlines()[0]})") from None
    for number, row in enumerate(table.to_pylist(), start=1):
        yield f"row {number}", row


def _one_row_a_question(rows: list[_Row], path: Path, name: str) -> QuestionRows:
    """Drop error rows, keep the good row of a question that was tried again."""
    good: dict[str, _Row] = {}
    errors: list[str] = []
    for row in rows:
        if row.is_error:
            errors.append(row.question)
        elif row.question in good:
            raise BadInput(f"{path}: two good rows for question {row.question}; keep one of them")
        else:
            good[row.question] = row
    retried = dict.fromkeys(question for question in errors if question in good)
    failed = tuple(dict.fromkeys(question for question in errors if question not in good))
    notes = []
    if errors:
        which = name_some(dict.fromkeys(errors))
        notes.append(f"{counted(len(errors), 'error row')} dropped ({which})")
    if retried:
        kept = "its successful retry" if len(retried) == 1 else f"{len(retried)} successful retries"
        notes.append(f"{kept} kept ({name_some(retried)})")
    if failed:
        notes.append(f"{counted(len(failed), 'question')} without a good row ({name_some(failed)})")
    return QuestionRows(name, _frame(list(good.values())), failed, tuple(notes))


def _frame(rows: list[_Row]) -> pd.DataFrame:
    frame = pd.DataFrame(
        {
            "question": [row.question for row in rows],
            "history": [row.history for row in rows],
            "type": [_TYPE_CODES.get(row.type or "", row.type) for row in rows],
            "condition": [row.condition for row in rows],
            "abstention": [row.is_abstention for row in rows],
            "reference": [row.reference for row in rows],
            **{metric: [getattr(row, metric) for row in rows] for metric in METRICS},
        },
        columns=list(COLUMNS),
    )
    return frame.astype(dict.fromkeys(METRICS, "float64"))
