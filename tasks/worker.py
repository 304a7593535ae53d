"""A work in whichever process the task runner has put it."""

from __future__ import annotations

from tasks.context import settle
from tasks.stage import Artefact, Stage, Work, perform


def at_work(stage: Stage, work: Work) -> Artefact:
    """As `perform`; what this process knows of the run is on the disk when it returns, so that it may be killed then.

    Raises:
        CallRefused: If the run may make no further call.
        results.errors.TornTable: If an input is not what was written.
    """
    try:
        return perform(stage, work)
    finally:
        settle(work)
