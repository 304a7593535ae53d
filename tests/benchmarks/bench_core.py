"""What the memory core costs beside the published algorithm in plain Python, at growing sizes of graph.

    python -m tests.benchmarks.bench_core [SIZE ...]

Both are first shown to hold and recall the same on 1,000 nodes. The core has the profile `published`; the other is
`published_in_python`, which keeps a NumPy array for every node. The code's own way, a list that becomes an array for
each comparison, is timed on 2,000 nodes and multiplied, as it needs 25 kB a node. JSON is saved and loaded of at most
30,000 nodes, and multiplied; only what comes from Parquet is checked and becomes a graph of NetworkX. All times are
the processor's: on a busy machine the longer of two works waits for more than its share.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from functools import partial
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from memory.graph import MemoryGraph, Moment
from memory.merge import merge_turn
from memory.retrieval import expand, find_roots
from memory.serialise import serialise
from memory.tables import from_tables, to_tables
from results import tables
from tests.benchmarks import synthetic, timing
from tests.benchmarks.agreement import PUBLISHED, differences
from tests.benchmarks.published_in_python import DEDUP, FLOOR, PublishedMemory, copy_of, load
from tests.benchmarks.timing import show
from tests.benchmarks.workload import NOON, new_turn, questions

SIZES = (1_000, 27_021, 200_000)  # the second is the paper's graph
DIMENSIONS = 768
AS_LISTS = 2_000
AS_JSON = 30_000
QUESTIONS = 5
PUBLISHED_WAY = "published, an array a node"
seconds = partial(timing.seconds, clock=time.process_time)


def main() -> None:
    found = differences(drawn(1_000), turns=200, asked=100)
    if found:
        sys.exit(f"the core and the published algorithm differ, so no time is worth printing: {found}")
    print("200 turns merged into 1,000 nodes and 100 questions recalled: equal to the published algorithm")
    for size in [int(given) for given in sys.argv[1:]] or SIZES:
        begun = time.perf_counter()
        graph = drawn(size)
        reference = copy_of(graph)
        print(f"\n{size:,} nodes x {DIMENSIONS}, {graph.topology.number_of_edges():,} edges", end=", ")
        print(f"both made in {time.perf_counter() - begun:.0f} s", flush=True)
        runs = 5 if size <= AS_JSON else 1
        scan(graph, reference, runs)
        merge(graph, reference, runs)
        recall(graph, reference, runs)
        keep(graph, reference)


def drawn(size: int) -> MemoryGraph:
    """A synthetic graph; its vectors are made block by block, so that no second copy of them is held."""
    rows = synthetic.rows_in_blocks(np.random.default_rng(0), size, DIMENSIONS)
    return synthetic.graph(synthetic.states(size, 1), PUBLISHED, rows)


def scan(graph: MemoryGraph, reference: PublishedMemory, runs: int) -> None:
    """The node most similar to a new vector."""
    vector = synthetic.unit_rows(np.random.default_rng(1), 1, DIMENSIONS)[0]
    wide = vector.astype(float)
    ours = seconds(lambda: graph.vectors.nearest(vector, 1), 2 * runs)
    show("scan for a duplicate", ours, PUBLISHED_WAY, seconds(lambda: reference.nearest(wide), runs))
    some = list(reference.vector_index)[:AS_LISTS]
    lists = PublishedMemory(list, vector_index={id: reference.vector_index[id].tolist() for id in some})
    took = seconds(lambda: lists.nearest(wide), 3) * len(graph) / len(some)
    show(f"  the same; timed on {len(some):,} nodes", ours, "published, a list a node", took)


def merge(graph: MemoryGraph, reference: PublishedMemory, runs: int) -> None:
    """A turn of five new nodes and four edges."""
    random = np.random.default_rng(2)
    turns = [(new_turn(number), list(synthetic.unit_rows(random, 5, DIMENSIONS))) for number in range(100)]
    merged, copied = enumerate(turns), iter(turns)

    def ours() -> None:
        number, (extraction, vectors) = next(merged)
        merge_turn(graph, Moment(f"new#{number}", "s", NOON), extraction, vectors, DEDUP)

    def theirs() -> None:
        reference.merge("s", NOON, *next(copied))

    show("a turn merged", seconds(ours, 2 * runs), PUBLISHED_WAY, seconds(theirs, runs))


def recall(graph: MemoryGraph, reference: PublishedMemory, runs: int) -> None:
    """Questions: their roots, the walks over two hops from these, and the contexts that are written of them."""
    asked = questions(np.random.default_rng(3), graph, QUESTIONS)
    wide = [list(each.vectors.astype(float)) for each in asked]
    both = list(zip(asked, wide, strict=True))
    roots = [find_roots(graph, each.entities, each.vectors, FLOOR) for each in asked]
    same = [[(root.id, root.score) for root in some] for some in roots]
    ours = seconds(
        lambda: [find_roots(graph, each.entities, each.vectors, FLOOR) for each in asked], 2 * runs
    )
    theirs = seconds(lambda: [reference.roots(each.entities, vectors) for each, vectors in both], runs)
    show("roots of five questions", ours, PUBLISHED_WAY, theirs)
    begun = [(some, each.vectors) for some, each in zip(roots, asked, strict=True)]
    ours = seconds(lambda: [expand(graph, *each) for each in begun], 10)
    theirs = seconds(lambda: [reference.walk(some) for some in same], runs)
    show("two-hop walks of the five", ours, PUBLISHED_WAY, theirs)
    found, walked = [expand(graph, *each) for each in begun], [reference.walk(some) for some in same]
    ours = seconds(lambda: [serialise(graph, each) for each in found], 10)
    theirs = seconds(lambda: [reference.context(*each) for each in walked], 10)
    show("contexts of the five", ours, PUBLISHED_WAY, theirs)


def keep(graph: MemoryGraph, reference: PublishedMemory) -> None:
    """The whole graph saved and loaded: Parquet against indented JSON."""
    part = printed(reference, AS_JSON)
    share = len(reference.nodes) / len(part.nodes)
    with TemporaryDirectory() as folder:
        place = Path(folder)
        saved = once(lambda: save(graph, place))
        files = list(place.glob("*.parquet"))
        loaded = once(lambda: from_tables({file.stem: tables.read(file) for file in files}, PUBLISHED))
        ours = sum(file.stat().st_size for file in files)
        theirs_saved = share * once(lambda: part.save(place / "graph.json"))
        theirs_loaded = share * once(lambda: load(place / "graph.json"))
        theirs = share * (place / "graph.json").stat().st_size
    way = f"JSON of {len(part.nodes):,} nodes, multiplied" if share > 1 else "JSON"
    show("saved as Parquet", saved, way, theirs_saved)
    show("loaded and checked", loaded, way, theirs_loaded)
    print(f"on disk: {ours / len(graph):,.0f} bytes a node; {way}: {theirs / len(reference.nodes):,.0f}")


def save(graph: MemoryGraph, place: Path) -> None:
    """The graph's tables as a run leaves them."""
    for name, table in to_tables(graph).items():
        tables.write(place / f"{name}.parquet", table)


def printed(memory: PublishedMemory, most: int) -> PublishedMemory:
    """The first nodes of a memory and as great a share of its edges, whose ends may be other nodes.

    Vectors are lists of nine decimals: that many an embedding server prints of a float of single precision, and more
    digits would make the JSON larger than the paper's.
    """
    edges = most * len(memory.edges) // len(memory.nodes)
    vectors = islice(memory.vector_index.items(), most)
    return PublishedMemory(
        list,
        nodes=dict(islice(memory.nodes.items(), most)),
        edges=dict(islice(memory.edges.items(), edges)),
        vector_index={id: np.round(vector, 9).tolist() for id, vector in vectors},
        title_index=dict(islice(memory.title_index.items(), most)),
        sessions=memory.sessions,
    )


def once(work: Callable[[], object]) -> float:
    """Seconds of one call."""
    begun = time.process_time()
    work()
    return time.process_time() - begun


if __name__ == "__main__":
    main()
