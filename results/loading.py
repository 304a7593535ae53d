"""A finished run as pandas frames: `results.load(folder).metrics`.

The types of a frame follow `columns.toml`, whatever a file was written with: texts are `string`, whole numbers
nullable `Int32` and `Int64`, truth values `boolean`, ids of conditions, types and the like `category` in the order of
the file, dates `datetime64[us, UTC]`. Figures are `float64`, where NaN is what is missing: nothing that is computed
from them needs to tell NaN from null. Lists stay NumPy arrays, so that `np.stack(frame.vector)` copies once.
"""

from __future__ import annotations

import json
import warnings
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from memory.errors import BadInput
from results.columns import GRAPHS, Column, documented
from results.schemas import VERSION

UNFINISHED = frozenset({"running", "stopped"})
"""Statuses of a run whose tables, if there are any, are those of an earlier end."""
_VERSION_KEY = b"palimpsest.schema_version"
_ARROW: dict[str, pa.DataType] = {
    "string": pa.string(),
    "category": pa.string(),
    "bool": pa.bool_(),
    "int32": pa.int32(),
    "int64": pa.int64(),
    "double": pa.float64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "list<string>": pa.list_(pa.string()),
    "list<int32>": pa.list_(pa.int32()),
    "list<double>": pa.list_(pa.float64()),
}
"""By documented type. Lists of structs and vectors are taken as they are in the file."""
_PANDAS: dict[pa.DataType, Any] = {
    pa.string(): pd.StringDtype("pyarrow"),
    pa.bool_(): pd.BooleanDtype(),
    pa.int32(): pd.Int32Dtype(),
    pa.int64(): pd.Int64Dtype(),
}


class NoSuchTable(BadInput, AttributeError):
    """A run has no such table. The message names those that it has."""


class Tables:
    """The tables of a folder as attributes, each read when it is first asked for."""

    def __init__(self, folders: tuple[Path, ...], prefix: str = "", remark: str = "") -> None:
        """Look for tables in folders, in this order; `prefix` begins their names in `columns.toml`."""
        self._folders, self._prefix, self._remark = folders, prefix, remark
        self._read: dict[str, pd.DataFrame] = {}

    @property
    def names(self) -> list[str]:
        """The tables that are there."""
        return sorted({path.stem for folder in self._folders for path in folder.glob("*.parquet")})

    def arrow(self, name: str) -> pa.Table:
        """A table as Arrow, with the columns that this version documents first; an older file's gaps are null.

        Raises:
            NoSuchTable: If there is none of that name.
            BadInput: If it is damaged, or of a later version.
        """
        path = self._path(name)
        return _conformed(_whole(path), path, self._prefix + name)

    def rows(self, name: str) -> int:
        """How many rows a table has, without reading them.

        Raises:
            NoSuchTable: If there is none of that name.
        """
        return int(pq.read_metadata(self._path(name)).num_rows)

    def _path(self, name: str) -> Path:
        if name not in self.names:
            there = ", ".join(self.names) or "no table at all"
            raise NoSuchTable(f"{self._folders[0]} has no table {name!r}{self._remark}; it has {there}")
        paths = (folder / f"{name}.parquet" for folder in self._folders)
        return next(path for path in paths if path.is_file())

    def __getattr__(self, name: str) -> pd.DataFrame:
        """A table as a frame.

        Raises:
            NoSuchTable: If there is none of that name.
            BadInput: If it is damaged, or of a later version.
        """
        if name.startswith("_"):  # what Python itself looks for, as copying does
            raise AttributeError(name)
        if name not in self._read:
            self._read[name] = _frame(self.arrow(name), self._prefix + name)
        return self._read[name]

    def __dir__(self) -> list[str]:
        """With the tables, for completion."""
        return [*super().__dir__(), *self.names]


class LoadedRun(Tables):
    """A run: `run.json` as `run`, and every table as a frame.

    Attributes:
        folder: The run folder.
        run: `run.json`.
    """

    def __init__(self, folder: Path, run: dict[str, Any], judged: Path | None) -> None:
        """The tables of `judged`, a folder of other verdicts, come before the run's own."""
        status = run.get("status")
        remark = "" if status == "complete" else f" (the run is {status}: the same command goes on with it)"
        super().__init__((folder,) if judged is None else (judged, folder), remark=remark)
        self.folder, self.run = folder, run

    @cached_property
    def graphs(self) -> list[str]:
        """Names of the memories that are kept as tables: conditions, or arms of a forgetting run."""
        return sorted(path.name for path in (self.folder / "graphs").glob("*") if path.is_dir())

    def graph(self, name: str) -> Tables:
        """The tables `nodes`, `edges`, `titles` and `turns` of a memory, and of what it forgot.

        Raises:
            BadInput: If there is none of that name.
        """
        if name not in self.graphs:
            raise BadInput(f"{self.folder} has no graph {name!r}; it has {', '.join(self.graphs) or 'none'}")
        return Tables((self.folder / "graphs" / name,), prefix=GRAPHS)

    def __repr__(self) -> str:
        """Name, status and tables."""
        return f"<run {self.run.get('name')}, {self.run.get('status')}: {', '.join(self.names)}>"


def load_run(run: str | Path, *, unfinished: bool = False) -> LoadedRun:
    """Load a run.

    Args:
        run: The run folder, or a folder of other verdicts within it (`RUN/rejudged/...`).
        unfinished: Load the tables that are there although the run has not come to its end.

    Raises:
        BadInput: If it is no run folder, or the run has not come to its end.
    """
    given = Path(run)
    folder = given.parent.parent if given.parent.name == "rejudged" else given
    path = folder / "run.json"
    try:
        said = json.loads(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{given} is no run folder: it has no run.json") from error
    except ValueError as error:
        raise BadInput(f"{path}: damaged ({error}); start the study again, its parts are kept") from error
    if not isinstance(said, dict):
        raise BadInput(f"{path}: damaged (no object); start the study again, its parts are kept")
    loaded = LoadedRun(folder, said, None if folder == given else given)
    status, why = said.get("status"), f" ({said['reason']})" if said.get("reason") else ""
    if status in UNFINISHED and not unfinished:
        raise BadInput(
            f"{folder}: the run is {status}{why}, and its tables are written at its end: give the same command again, "
            f"it goes on; or load with unfinished=True what is there: {', '.join(loaded.names) or 'nothing'}"
        )
    if status != "complete":
        warnings.warn(
            f"{folder}: the run is {status}{why}: means are over the rows that are there", stacklevel=3
        )
    return loaded


def _whole(path: Path) -> pa.Table:
    """The file, if this version can read it."""
    try:
        written = (pq.read_schema(path).metadata or {}).get(_VERSION_KEY, b"1").decode()
        if not written.isdigit() or int(written) > VERSION:
            raise BadInput(
                f"{path} has tables of version {written}, and this program reads up to {VERSION}: "
                "upgrade palimpsest (git pull, make study)"
            )
        return pq.read_table(path)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise BadInput(
            f"{path}: damaged ({reason}); delete it and start the study again, its parts are kept"
        ) from error


def _conformed(table: pa.Table, path: Path, name: str) -> pa.Table:
    """With the documented columns in their order and types, then whatever else the file has."""
    known = documented()[name].columns if name in documented() else ()
    held = table.column_names
    columns: dict[str, Any] = {column.name: _column(table, column, path) for column in known}
    columns |= {other: table[other] for other in held if other not in columns}
    return pa.table(columns)


def _column(table: pa.Table, column: Column, path: Path) -> pa.ChunkedArray[Any]:
    wanted = _ARROW.get(column.type)
    if column.name not in table.column_names:
        return pa.chunked_array([pa.array([None] * table.num_rows, wanted)])
    found = table[column.name]
    try:
        return found if wanted is None else found.cast(wanted)
    except pa.ArrowInvalid as error:
        raise BadInput(
            f"{path}: {column.name} cannot be read as {column.type} ({error}): make the run anew"
        ) from error


def _frame(table: pa.Table, name: str) -> pd.DataFrame:
    about = documented().get(name)
    for place, column in enumerate(table.column_names):
        told = about.column(column) if about else None
        if told is not None and told.type == "category":
            table = table.set_column(place, column, table[column].combine_chunks().dictionary_encode())
    return table.to_pandas(types_mapper=_PANDAS.get, ignore_metadata=True)
