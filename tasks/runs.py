"""Run folders: where a run lies, and `run.json`, which says what it is."""

from __future__ import annotations

import importlib.metadata
import platform
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, SerializeAsAny, ValidationError, field_validator

from memory.errors import BadInput
from results.tables import write_bytes
from tasks.kinds import kind_of
from tasks.shared import Shared
from tasks.study import Study

Status = Literal["running", "complete", "incomplete", "budget_exhausted", "stopped"]


class Run(BaseModel):
    """`run.json`: enough to audit a run, or to run it again.

    Attributes:
        status: `complete`: all rows are there, failed ones counted; `incomplete`: some rows met a fault of transport
            and are tried again by the same command; `budget_exhausted`: some rows wait for more budget; `stopped`: it
            ended early, for `reason`.
        arms: Every condition's full settings, thresholds included.
        thresholds: Each condition's thresholds, with what they stand on; as rows of Table 3.
        data: The data file, as it was named.
        sha256: Hash of its uncompressed bytes.
        counts: Rows by stage and by what became of them.
        tables: SHA-256 of every table that it has published, by path.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    status: Status
    reason: str = ""
    study: SerializeAsAny[Study]
    data: str | None
    sha256: str
    variant: str
    notes: tuple[str, ...] = ()
    arms: list[dict[str, Any]] = Field(default_factory=list)
    thresholds: list[dict[str, Any]] = Field(default_factory=list)
    store: str
    versions: dict[str, str] = Field(default_factory=dict)
    counts: dict[str, dict[str, int]] = Field(default_factory=dict)
    tables: dict[str, str] = Field(default_factory=dict)
    updated: str = ""

    @field_validator("study", mode="before")
    @classmethod
    def _of_its_kind(cls, study: Any) -> Any:
        return kind_of(study)(**study) if isinstance(study, dict) else study

    @property
    def asks(self) -> bool:
        """Whether there are questions in it; one that has not come to an end yet is taken to have some."""
        return self.counts.get("load", {}).get("questions") != 0

    @property
    def shared(self) -> Shared | None:
        """Where machines share it, if they do."""
        return Shared(url=self.study.shared, run=self.name) if self.study.shared else None


def versions() -> dict[str, str]:
    """Versions of what can change a number."""
    names = (
        "palimpsest",
        "prefect",
        "networkx",
        "numpy",
        "pyarrow",
        "scipy",
        "bm25s",
        "onnxruntime",
        "openai",
        "ollama",
    )
    return {"python": platform.python_version(), **{name: importlib.metadata.version(name) for name in names}}


def write_run(folder: Path, run: Run) -> None:
    """Write `run.json`, whole or not at all; also where machines share the run."""
    stamped = run.model_copy(update={"updated": datetime.now(UTC).isoformat(timespec="seconds")})
    data = stamped.model_dump_json(indent=1).encode()
    write_bytes(folder / "run.json", data)
    if run.shared is not None:
        run.shared.put({"run.json": data})


def read_run(folder: Path) -> Run:
    """Read `run.json`.

    Raises:
        BadInput: If the folder is no run.
    """
    path = folder / "run.json"
    try:
        return _parsed(path.read_bytes())
    except OSError as error:
        raise BadInput(f"{folder} is no run folder: it has no run.json") from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the file"
        raise BadInput(
            f"{path}: {where}: {first['msg']}; delete this file and start the study again, its parts are kept"
        ) from error


@lru_cache(maxsize=4)
def _parsed(text: bytes) -> Run:
    return Run.model_validate_json(text)
