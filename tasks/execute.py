"""Ways to carry out the works of a stage; a plan is the same in each."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tasks.stage import Artefact, Stage, Work, existing, perform

Execute = Callable[[Stage, Sequence[Work]], list[Artefact]]
"""Performs the works of one stage and gives their artefacts in order."""


class Incomplete(Exception):
    """A work has not been done yet."""


def in_loop(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
    """Perform works one after the other, with no Prefect and no server: what a flow does, for tests and debuggers."""
    return [perform(stage, work) for work in works]


def only_found(stage: Stage, works: Sequence[Work]) -> list[Artefact]:
    """The artefacts of works that have all been done.

    Raises:
        Incomplete: If one has not.
    """
    artefacts = []
    for work in works:
        artefact = existing(work)
        if artefact is None:
            raise Incomplete(f"stage {stage.name}, batch {work.batch} is still to be done")
        artefacts.append(artefact)
    return artefacts
