"""A work in whichever process, and on whichever machine, the task runner has put it."""

from __future__ import annotations

import os
from pathlib import Path

from results.tables import write_bytes
from tasks.context import settle
from tasks.shared import Shared
from tasks.stage import Artefact, Stage, Work, perform

FOLDER = "PALIMPSEST_WORKER_FOLDER"
"""Names, on a machine that has not the folders of the one that runs the flow, where its own store and runs may lie."""


def at_work(stage: Stage, work: Work) -> Artefact:
    """As `perform`; what this process knows of the run is on the disk when it returns, so that it may be killed then.

    Raises:
        CallRefused: If the run may make no further call.
        results.errors.TornTable: If an input is not what was written.
    """
    if work.shared is not None:
        work = _on_this_machine(work, work.shared)
    try:
        return perform(stage, work)
    finally:
        settle(work)


def _on_this_machine(work: Work, shared: Shared) -> Work:
    """The work with its folders on this machine, with the `run.json` of the latest attempt."""
    if folder := os.environ.get(FOLDER):
        here = {"run": str(Path(folder) / "runs" / shared.run), "store": str(Path(folder) / "store")}
        work = work.model_copy(update=here)
    run = work.folder / "run.json"
    data = shared.get(["run.json"]).get("run.json")
    if data is not None and (not run.exists() or run.read_bytes() != data):
        write_bytes(run, data)
    return work
