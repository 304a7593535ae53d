"""Stages: work that is done once, and found again by everyone who would do the same.

A stage turns works into artefacts. A work says, by ids, hashes and paths, all that its outcome depends on; the hash
of exactly that is its fingerprint. An artefact is files plus a manifest that is written last: with its manifest it is
whole, without it it is not there. `content` hashes what the files say, and is what later works depend on; so a stage
that was made anew and says the same makes nothing else run.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import from_json

from results import tables
from tasks import damaged_parts
from tasks.shared import Shared


class FileRef(BaseModel):
    """A file of an artefact. `path` is relative to the run folder."""

    model_config = ConfigDict(frozen=True)

    path: str
    rows: int
    bytes: int
    sha256: str


class Artefact(BaseModel):
    """What a work made: small enough to pass between tasks.

    Attributes:
        content: Hash of what the files say, volatile columns apart.
        counts: Rows by what became of them; `pending` rows are tried again by the next run.
    """

    model_config = ConfigDict(frozen=True)

    stage: str
    batch: str
    fingerprint: str
    files: dict[str, FileRef]
    content: str
    counts: dict[str, int] = Field(default_factory=dict)

    def read(self, run: Path, table: str, schema: pa.Schema | None = None) -> pa.Table:
        """One table of the artefact.

        Raises:
            results.errors.TornTable: If the file is not what was written, or lies outside the run folder.
        """
        ref = self.files[table]
        return tables.read(damaged_parts.inside(run, ref.path), schema, ref.sha256)


class Work(BaseModel):
    """One unit of a stage.

    Attributes:
        run: The run folder.
        store: The folder of calls that all runs share.
        stage: Name of the stage.
        batch: Name of the unit within its stage, in letters that may stand in a file name.
        version: Version of the stage's behaviour.
        params: All settings that the outcome depends on.
        inputs: The artefacts that it reads.
        retry_failed: Whether to ask again where replies stayed unusable; not part of the fingerprint.
        shared: Where machines share the run, if they do; not part of the fingerprint.
    """

    model_config = ConfigDict(frozen=True)

    run: str
    store: str
    stage: str
    batch: str
    version: int
    params: dict[str, Any]
    inputs: dict[str, Artefact] = Field(default_factory=dict)
    retry_failed: bool = False
    shared: Shared | None = None

    @property
    def fingerprint(self) -> str:
        """Hash of all that the outcome depends on: equal fingerprints, equal outcome."""
        depends = {
            "stage": self.stage,
            "batch": self.batch,
            "version": self.version,
            "params": self.params,
            "inputs": {name: artefact.content for name, artefact in self.inputs.items()},
        }
        text = json.dumps(depends, sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def folder(self) -> Path:
        """The run folder."""
        return Path(self.run)

    def read(self, name: str, table: str | None = None, schema: pa.Schema | None = None) -> pa.Table:
        """A table of one of the inputs; by default the table named like the input."""
        return self.inputs[name].read(self.folder, table or name, schema)

    @property
    def was_damaged(self) -> bool:
        """Whether it was done once and its part was lost, so that its calls were bought already."""
        return damaged_parts.was_set_aside(self.folder, self.stage, self.manifest)

    @property
    def manifest(self) -> Path:
        """Where the artefact's manifest lies."""
        return self.folder / "parts" / self.stage / f"{self.batch}-{self.fingerprint[:16]}.json"


@dataclass(frozen=True, slots=True)
class Made:
    """What a stage's function gives: tables by name, and its rows counted by what became of them."""

    tables: Mapping[str, pa.Table]
    counts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Stage:
    """A step of a study.

    Attributes:
        name: As fingerprints, files and the Prefect UI show it.
        version: Raise it when what the stage makes changes: a helper's behaviour is not seen otherwise.
        make: The work itself.
    """

    name: str
    version: int
    make: Callable[[Work], Made]


ASKED_AGAIN = ("failed", "unparsed")
"""Statuses of rows whose replies stayed unusable, as stages count them."""


class DamagedPart(Exception):
    """A file of an artefact is not what was written."""

    def __init__(self, file: Path, fault: str) -> None:
        super().__init__(f"{file}: {fault}")
        self.file = file
        self.fault = fault


def existing(work: Work) -> Artefact | None:
    """As `intact`, here or where machines share the run; what is damaged is set aside and told, and is not there.

    Raises:
        results.errors.TornTable: If the manifest names a file outside the run folder.
    """
    found = _undamaged(work)
    if found is None and work.shared is not None and _bring(work, work.shared):
        found = _undamaged(work)
    return found


def _bring(work: Work, shared: Shared) -> bool:
    """Copy the artefact that another machine has shared to the run folder; whether there is one."""
    name = work.manifest.relative_to(work.folder).as_posix()
    data = shared.get([name]).get(name)
    if data is None:
        return False
    try:
        artefact = _of_manifest(data)
    except ValueError:
        return False
    bring_files(work, artefact)
    tables.write_bytes(work.manifest, data)
    return True


def bring_files(work: Work, *artefacts: Artefact) -> None:
    """Copy to the run folder what it lacks of the files of artefacts, from where machines share the run.

    Raises:
        results.errors.TornTable: If one would lie outside the run folder.
    """
    if work.shared is None:
        return
    files = [ref for artefact in artefacts for ref in artefact.files.values()]
    work.shared.bring({damaged_parts.inside(work.folder, ref.path): ref.sha256 for ref in files})


def _undamaged(work: Work) -> Artefact | None:
    try:
        return intact(work)
    except DamagedPart as damage:
        damaged_parts.set_aside(work.folder, work.stage, work.manifest, damage.file, damage.fault)
        return None


def intact(work: Work) -> Artefact | None:
    """The whole artefact of an earlier run, with nothing left in it that should be tried again; changes nothing.

    Every byte of it is checked once a process.

    Raises:
        DamagedPart: If it is not what was written.
        results.errors.TornTable: If the manifest names a file outside the run folder.
    """
    try:
        artefact = _of_manifest(work.manifest.read_bytes())
    except FileNotFoundError:
        return None
    except ValueError:
        raise DamagedPart(work.manifest, "it is no manifest, or a torn or altered one") from None
    if artefact.fingerprint != work.fingerprint or artefact.counts.get("pending"):
        return None
    if work.retry_failed and any(artefact.counts.get(status) for status in ASKED_AGAIN):
        return None
    for ref in artefact.files.values():
        file = damaged_parts.inside(work.folder, ref.path)
        fault = damaged_parts.fault_of(file, ref.bytes, ref.sha256)
        if fault is not None:
            raise DamagedPart(file, fault)
    return artefact


def _manifest_of(artefact: Artefact) -> bytes:
    fields = artefact.model_dump(mode="json")
    return json.dumps({**fields, "checksum": _checksum(fields)}, indent=1).encode()


def _of_manifest(data: bytes) -> Artefact:
    """Raises ValueError for what `_manifest_of` has not written; older manifests have no checksum."""
    fields = from_json(data)
    checksum = fields.pop("checksum", None) if isinstance(fields, dict) else None
    if checksum not in (None, _checksum(fields)):
        raise ValueError("checksum")
    return Artefact.model_validate(fields)


def _checksum(fields: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(fields, sort_keys=True).encode()).hexdigest()


def perform(stage: Stage, work: Work) -> Artefact:
    """The artefact of a work: found, or made, written and checked.

    Raises:
        CallRefused: If the run may make no further call.
        results.errors.TornTable: If an input is not what was written.
    """
    found = existing(work)
    if found is not None:
        return found
    bring_files(work, *work.inputs.values())
    made = stage.make(work)
    files = {}
    for name, table in made.tables.items():
        files[name] = _file(work, name, table)
    artefact = Artefact(
        stage=work.stage,
        batch=work.batch,
        fingerprint=work.fingerprint,
        files=files,
        content=tables.content_hash(made.tables),
        counts=dict(made.counts),
    )
    manifest = _manifest_of(artefact)
    tables.write_bytes(work.manifest, manifest)
    if work.shared is not None:
        work.shared.send([work.folder / ref.path for ref in files.values()])
        work.shared.put({work.manifest.relative_to(work.folder).as_posix(): manifest})
    if not artefact.counts.get("pending"):
        damaged_parts.mended(work.folder, work.stage, work.manifest)
    return artefact


def _file(work: Work, name: str, table: pa.Table) -> FileRef:
    """Write a table under a name that holds its hash: whoever makes the same work at once overwrites nothing."""
    data = tables.serialised(table)
    sha256 = hashlib.sha256(data).hexdigest()
    path = work.manifest.with_name(f"{work.manifest.stem}.{name}.{sha256[:12]}.parquet")
    tables.write_bytes(path, data)
    return FileRef(
        path=path.relative_to(work.folder).as_posix(), rows=table.num_rows, bytes=len(data), sha256=sha256
    )


def milliseconds(since: float) -> float:
    """Milliseconds since a reading of `time.perf_counter`."""
    return (time.perf_counter() - since) * 1000


def count(rows: list[dict[str, Any]]) -> dict[str, int]:
    """Rows by status; `pending` are failures that the next run tries again."""
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["status"]] = counts.get(row["status"], 0) + 1
        if row.get("final") is False:
            counts["pending"] = counts.get("pending", 0) + 1
    return counts
