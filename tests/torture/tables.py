"""What a run says, so that two runs can be compared: everything but times, costs, paths and places in a queue."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from results import tables
from tests.tasks.models.fakes import Request, inputs

# These tell of attempts, so they differ; `run.json` names folders and versions too.
LEDGER = "calls.parquet"
PACE = "pace.parquet"


def said(run: Path) -> dict[str, str]:
    """Every published file of a run, by its path in the run folder: hashes of content, volatile columns apart."""
    found = {}
    for path in sorted(run.rglob("*")):
        name = path.relative_to(run).as_posix()
        if name.startswith("parts/") or name in (LEDGER, PACE):
            continue
        if path.suffix == ".parquet":
            found[name] = tables.content_hash({name: pq.read_table(path)})
        elif path.suffix in (".md", ".tex"):
            found[name] = path.read_text(encoding="utf-8")
    found["run.json"] = json.dumps(_ending(run), sort_keys=True)
    if (run / LEDGER).exists():
        found[LEDGER] = " ".join(
            sorted({str(call) for call in pq.read_table(run / LEDGER)["call_id"].to_pylist()})
        )
    return found


def differing(one: Path, other: Path) -> list[str]:
    """The files of two runs that do not say the same, or are not in both."""
    first, second = said(one), said(other)
    return sorted(name for name in first.keys() | second.keys() if first.get(name) != second.get(name))


def run_folder(folder: Path) -> Path:
    """The one run that commands in a folder have made."""
    (run,) = (folder / "results" / "runs").iterdir()
    return run


def calls_of(request: Request) -> list[str]:
    """The calls that a request to the fake makes: one for a chat, one for each text that is to be embedded."""
    if "embed" in request.path:
        return [f"embed {text}" for text in inputs(request)]
    return [f"chat {json.dumps(request.body, sort_keys=True)}"]


def _ending(run: Path) -> dict[str, Any]:
    ended = json.loads((run / "run.json").read_text(encoding="utf-8"))
    return {name: ended[name] for name in ("name", "status", "counts", "notes")}
