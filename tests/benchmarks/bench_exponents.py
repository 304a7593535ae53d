"""How the cost of each stage of the core grows: the exponents beside Table 4 of the paper.

    python -m tests.benchmarks.bench_exponents [--profile published] [--to DIR]

One variable grows, the others stay. Each stage is timed in rounds over all sizes, and the least time of a size counts,
as what is above it is another's work. Seconds are the processor's: on a busy machine, what takes longer than its turn
waits for the next, and would seem to grow faster than it does. The garbage collector stands still meanwhile, as it does
for `timeit`. Prints the table as Markdown; `--to DIR` also writes `table_4.md` and `table_4.parquet` there. The paper's
"Embed extracted entities" is the model's work, not the core's.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from results import tables
from results.exponents import Growth, fit_exponent, table_4
from tests.benchmarks import stages
from tests.benchmarks.stages import Size, World

ROUNDS = 7
GROWING: Mapping[str, tuple[int, Callable[[int], Size]]] = {
    "nodes": (1_000, lambda n: Size(nodes=n, edges=n * Size.edges // Size.nodes)),
    "edges": (2_000, lambda m: Size(edges=m)),
    "dimensions": (32, lambda d: Size(dimensions=d)),
    "entities": (2, lambda k: Size(entities=k)),
}
"""The first of the seven sizes of each variable, of which each is twice the one before, and what stands at a size: with
the nodes, the edges grow too."""


@dataclass(frozen=True)
class Stage:
    """A stage, what the paper says that it costs, and the exponents of that cost in what grows here.

    `ready` prepares some operations untimed and gives back what does them; `N + M` has exponent 1 in both.
    """

    name: str
    cost: str
    stated: Mapping[str, float | None]
    ready: Callable[[World], Callable[[], object]]
    operations: int = 1
    rounds: int = ROUNDS


SCAN = {"nodes": 1, "edges": 0, "dimensions": 1, "entities": 1}
GRAPH = {"nodes": 1, "edges": 1, "dimensions": 0}
UNSTATED = {"nodes": None, "edges": None}
STAGES = (
    Stage(
        "Title de-duplication of an entity",
        "O(1)",
        {"nodes": 0, "edges": 0},
        stages.title_lookups,
        stages.LOOKUPS,
    ),
    Stage("Embedding de-duplication of a turn", "O(kNd)", SCAN, stages.new_entities),
    Stage(
        "Graph write of a turn",
        "O(k + l)",
        {"nodes": 0, "edges": 0, "dimensions": 0, "entities": 1},
        stages.known_entities,
        stages.TURNS,
    ),
    Stage("Candidate retrieval of a question", "O(qNd)", SCAN, stages.roots),
    Stage("Subgraph traversal", "O(N + M + |S|)", GRAPH, stages.walks, stages.WALKS),
    Stage("Subgraph traversal from a hub of 9 % of M", "O(N + M + |S|)", GRAPH, stages.hub_walk),
    Stage("Context of a subgraph", "", UNSTATED, stages.contexts, stages.WALKS),
    Stage("Importance scores and decision", "O(N + M)", GRAPH, stages.scores),
    Stage("Removal of 1 % of the nodes", "O(N + M)", GRAPH, stages.removal),
    Stage("Save", "", UNSTATED, stages.saving, rounds=2),
    Stage("Load", "", UNSTATED, stages.loading, rounds=2),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--profile", default="improved", choices=["improved", "published"])
    parser.add_argument("--to", type=Path)
    given = parser.parse_args()
    growths = [growth for variable in GROWING for growth in measured(variable, given.profile)]
    order = [stage.name for stage in STAGES]
    table = table_4(sorted(growths, key=lambda growth: order.index(growth.stage)))
    print(table.markdown())
    if given.to:
        tables.write(given.to / "table_4.parquet", table.arrow())
        tables.write_bytes(given.to / "table_4.md", table.markdown().encode())


def measured(variable: str, profile: str) -> list[Growth]:
    """The exponents of all stages in one variable."""
    smallest, at = GROWING[variable]
    sizes = [smallest * 2**power for power in range(7)]
    worlds = [stages.world(at(size), profile) for size in sizes]
    growths = []
    for stage in STAGES:
        if variable in stage.stated:
            seconds = least_seconds(stage, worlds)
            growths.append(
                Growth(
                    stage.name,
                    stage.cost,
                    variable,
                    sizes[0],
                    sizes[-1],
                    stage.stated[variable],
                    seconds[-1],
                    fit_exponent(sizes, seconds),
                )
            )
    return growths


def least_seconds(stage: Stage, worlds: list[World]) -> list[float]:
    """The least processor seconds of an operation in each world; a first round is not counted."""
    took: list[list[float]] = [[] for _ in worlds]
    for _ in range(stage.rounds + 1):
        for world, seconds in zip(worlds, took, strict=True):
            work = stage.ready(world)
            gc.disable()
            begun = time.process_time()
            work()
            seconds.append((time.process_time() - begun) / stage.operations)
            gc.enable()
    return [min(seconds[1:]) for seconds in took]


if __name__ == "__main__":
    main()
