"""What a report is made from: the files of a run folder, read as what anyone may have written."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import BaseModel, ConfigDict

from memory.errors import BadInput
from results.errors import TornTable
from results.schemas import TABLES


class About(BaseModel):
    """What a report tells of `run.json`; what else stands there is left alone."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    name: str
    status: str
    reason: str = ""
    study: dict[str, Any]
    sha256: str
    variant: str
    notes: tuple[str, ...] = ()
    arms: tuple[dict[str, Any], ...] = ()
    versions: dict[str, str] = {}
    counts: dict[str, dict[str, int]] = {}
    updated: str = ""


class RunFolder:
    """A run folder, or the folder of other verdicts inside one (`RUN/rejudged/NAME`).

    Attributes:
        folder: As it was named; its tables come first.
        base: The run folder, which has the tables that other verdicts do not change.
        about: What `run.json` says.
    """

    def __init__(self, folder: Path) -> None:
        """Read what the folder says of itself.

        Raises:
            BadInput: If it is no run folder.
        """
        self.folder = folder
        rejudged = folder.resolve().parent.name == "rejudged" and not (folder / "run.json").exists()
        self.base = folder.resolve().parent.parent if rejudged else folder
        self.about = _about(self.base)

    @property
    def name(self) -> str:
        """The run's name, and with other verdicts whose these are."""
        return self.about.name if self.base == self.folder else f"{self.about.name}, {self.folder.name}"

    def path(self, name: str) -> Path | None:
        """Where a file of the run lies, none if it has none."""
        places = (self.folder / name, self.base / name)
        return next((place for place in places if place.exists()), None)

    def table(self, name: str, columns: Sequence[str] | None = None, where: Any = None) -> pa.Table | None:
        """A table with the columns of its schema (or those wanted); none if the run has not got so far.

        Raises:
            TornTable: If its file is not whole.
        """
        path = self.path(f"{name}.parquet")
        if path is None:
            return None
        try:
            with pq.ParquetFile(path) as file:
                there = file.schema_arrow.names
            wanted = list(columns) if columns is not None else None
            read = None if wanted is None else [column for column in wanted if column in there]
            table = pq.read_table(path, columns=read, filters=where)
        except (pa.ArrowException, OSError) as error:
            raise torn(path, error) from error
        return _filled(table, TABLES.get(name), wanted)

    def frame(self, name: str, columns: Sequence[str] | None = None) -> pd.DataFrame | None:
        """The same as a frame."""
        table = self.table(name, columns)
        return None if table is None else table.to_pandas()


def torn(path: Path, error: Exception) -> TornTable:
    """What to say of a file that is not whole."""
    reason = str(error).splitlines()[0]
    return TornTable(f"{path} is damaged ({reason}); delete it and start the study again, its parts are kept")


def _filled(table: pa.Table, schema: pa.Schema | None, wanted: Sequence[str] | None) -> pa.Table:
    """The columns that an older file lacks are null."""
    names = wanted if wanted is not None else (schema.names if schema is not None else table.column_names)
    for name in names:
        if name not in table.column_names:
            kind = schema.field(name).type if schema is not None and name in schema.names else pa.null()
            table = table.append_column(name, pa.nulls(table.num_rows, kind))
    return table


def _about(folder: Path) -> About:
    path = folder / "run.json"
    try:
        return About.model_validate(json.loads(path.read_bytes()))
    except OSError as error:
        raise BadInput(f"{folder} is no run folder: it has no run.json") from error
    except ValueError as error:
        raise BadInput(f"{path} is not what a run writes ({str(error).splitlines()[0]})") from error


def same_data(a: About, b: About) -> bool:
    """Whether two runs have read the same benchmark."""
    return (a.sha256, a.variant) == (b.sha256, b.variant)
