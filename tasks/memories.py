"""The memories of a batch of histories, as stage `merge` built them or made anew."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
import pyarrow.compute as pc

from memory.protocol import Beside, MemorySystem
from memory.systems import find
from memory.tables import vectors_of
from tasks.context import memory_models
from tasks.merge import merged, remembered
from tasks.stage import Work

BESIDE = "beside"
"""What the names of inputs begin with that hold the memories of all other histories of the condition."""


def memories(work: Work) -> Iterator[tuple[str, Callable[[], MemorySystem]]]:
    """The batch's memories by history, each opened when it is called for."""
    histories = work.params["histories"]
    if "merge" not in work.inputs:
        yield from ((history, partial(remembered, work, history)) for history in histories)
        return
    condition = work.params["condition"]
    tables = {name: work.read("merge", name) for name in work.inputs["merge"].files}
    system = find(condition["system"])
    settings = system.Settings(**condition["settings"])
    models = memory_models(work)

    def built(history: str) -> MemorySystem:
        memory = system.from_tables(merged(work, history, tables), settings, models)
        if isinstance(memory, Beside):
            memory.beside(_vectors_beside(work, history, models.embedder.dimensions))
        return memory

    yield from ((history, partial(built, history)) for history in histories)


def _vectors_beside(work: Work, history: str, dimensions: int) -> np.ndarray:
    """The vectors that the memories of all other histories hold."""
    found = [np.zeros((0, dimensions), np.float32)]
    for name, artefact in work.inputs.items():
        if name.startswith(BESIDE) and "items" in artefact.files:
            nodes = artefact.read(work.folder, "items").select(["history", "vector"])
            others = nodes.filter(pc.field("history") != pc.scalar(history))
            found.append(vectors_of(others, dimensions))
    return np.concatenate(found)
