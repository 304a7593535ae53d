"""Synthetic graphs of any size whose nodes are distributed as those of a real run; equal seeds give equal graphs.

`tests/fixtures/graph_fit.json` holds what was fitted, to the offline run over LongMemEval oracle: quantiles of
degree, age, time to the last access and bytes of text, accesses, the shares of
the labels, and rank correlations. To fit another run:

    python -m tests.benchmarks.synthetic RUN/graphs/CONDITION tests/fixtures/graph_fit.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow.compute as pc
import pyarrow.parquet as pq
from scipy.special import ndtr
from scipy.stats import rankdata

from memory.extraction import ExtractedNode
from memory.forgetting.states import States
from memory.graph import MemoryGraph, Moment
from memory.models import Vectors
from memory.profiles import GraphSettings

FIT = Path(__file__).parents[1] / "fixtures" / "graph_fit.json"
LEVELS = 201
"""Quantiles kept of each distribution, evenly spaced but for the last: the tail has a finer grid of its own."""
GRID = np.unique(np.concatenate([np.linspace(0, 0.98, LEVELS - 60), 1 - np.geomspace(0.02, 1e-5, 59), [1.0]]))
NOON = np.datetime64("2024-01-01T12:00", "us")
DAY = 86_400_000_000  # microseconds
TURNS_PER_NODE = 0.41  # the paper's graph: about 11,000 turns for 27,021 nodes


def fit(folder: Path) -> dict[str, Any]:
    """The distributions of the graph whose `nodes.parquet` and `edges.parquet` are in a folder."""
    names = ["label", "title", "content", "created_at", "access_count", "last_accessed_at", "degree"]
    table = pq.read_table(folder / "nodes.parquet", columns=names)
    created = table["created_at"].to_numpy().astype("datetime64[us]").astype(np.int64)
    age = (created.max() - created) / DAY
    accesses, degree = table["access_count"].to_numpy(), table["degree"].to_numpy()
    last = table["last_accessed_at"].to_numpy().astype("datetime64[us]").astype(np.int64)
    waited = ((last - created) / DAY)[accesses > 0].clip(min=0)
    texts = pc.add(
        pc.binary_length(table["title"]), pc.fill_null(pc.binary_length(table["content"]), 0)
    ).to_numpy()
    labels = table["label"].value_counts().to_pylist()
    ranks = rankdata(np.stack([degree, accesses, age]), axis=1)
    return {
        "nodes": table.num_rows,
        "edges": pq.read_metadata(folder / "edges.parquet").num_rows,
        "labels": {row["values"]: row["counts"] / table.num_rows for row in labels},
        "correlation": np.corrcoef(ranks).round(3).tolist(),
        **{name: _quantiles(values) for name, values in _named(degree, accesses, age, waited, texts).items()},
    }


def load_fit(path: Path = FIT) -> dict[str, Any]:
    """The fit kept in a file."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def states(count: int, dimensions: int, seed: int = 0, fitted: dict[str, Any] | None = None) -> States:
    """The columns of a graph of `count` nodes, oldest first; its vectors are random unit rows.

    Degree, accesses and age follow the fit, drawn together by its rank correlations (a Gaussian copula; the many
    nodes of equal degree or without access weaken them); edges join the ends that
    the degrees ask for at random. A sum of degrees that is odd gives one node an edge more.
    """
    fitted = fitted or load_fit()
    random = np.random.default_rng(seed)
    normal = random.multivariate_normal(np.zeros(3), fitted["correlation"], count, method="cholesky").T
    degree, accesses, age = (
        np.interp(ndtr(row), GRID, fitted[name])
        for row, name in zip(normal, ("degree", "accesses", "age_days"), strict=True)
    )
    order = np.argsort(-age, kind="stable")
    degree, accesses = _whole(degree[order]), _whole(accesses[order])
    degree[0] += degree.sum() % 2
    created = NOON - (age[order] * DAY).astype("timedelta64[us]")
    waited = (_drawn(random, fitted["waited_days"], count) * DAY).astype("timedelta64[us]")
    turns = np.arange(count) * max(1, int(count * TURNS_PER_NODE)) // max(count, 1)
    later = turns + ((turns.max(initial=0) - turns) * random.random(count)).astype(np.int64)
    share = np.array(list(fitted["labels"].values()))
    ends = random.permutation(np.repeat(np.arange(count), degree)).reshape(-1, 2)
    text = _whole(_drawn(random, fitted["text_bytes"], count))
    return States(
        created_at=created,
        last_accessed_at=np.where(accesses > 0, created + waited, np.datetime64("NaT", "us")),
        access_count=accesses,
        turns_at_creation=turns,
        turns_at_last_access=np.where(accesses > 0, later, -1),
        degree=degree,
        label=random.choice(len(share), count, p=share / share.sum()),
        bytes=text + 4 * dimensions + 100 * degree,
        edges=ends,
        vectors=unit_rows(random, count, dimensions),
    )


def unit_rows(random: np.random.Generator, count: int, dimensions: int) -> Vectors:
    """Random unit rows, made in float32 block by block, so that a million of them need no second copy."""
    rows = np.empty((count, dimensions), np.float32)
    for start in range(0, count, 8192):
        block = rows[start : start + 8192]
        random.standard_normal(out=block, dtype=np.float32)
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    return rows


def rows_in_blocks(random: np.random.Generator, count: int, dimensions: int) -> Iterator[Vectors]:
    """Random unit rows, one after another, of which only a block is held at a time."""
    for start in range(0, count, 8192):
        yield from unit_rows(random, min(8192, count - start), dimensions)


def graph(drawn: States, settings: GraphSettings, vectors: Iterable[Vectors] | None = None) -> MemoryGraph:
    """The columns as a graph, with a turn for every `turns_at_creation`; vectors other than theirs may be given."""
    labels = list(load_fit()["labels"])
    rows = iter(drawn.vectors if vectors is None else vectors)
    first = next(rows)
    made = MemoryGraph(len(first), settings)
    made.labels.update({label: number for number, label in enumerate(labels)})
    ids = [f"n{row}" for row in range(len(drawn))]
    for row, (id, vector) in enumerate(zip(ids, chain([first], rows), strict=True)):
        number = int(drawn.turns_at_creation[row])
        time = drawn.created_at[row].astype(datetime).replace(tzinfo=UTC)
        at = Moment(f"h#{number}", f"s{number // 10}", time, number)
        if number == made.turns:
            made.moments[at.turn] = at
        node = ExtractedNode(key=id, label=labels[drawn.label[row]], title=f"entity number {row}")
        made.add_node(id, at, node, vector)
    for number, (source, target) in enumerate(drawn.edges.tolist()):
        older = made.node(ids[max(source, target)]).sources[0]
        made.add_edge(ids[source], f"relation {number}", ids[target], made.moments[older])
    for name in ("access_count", "last_accessed_at", "turns_at_creation", "turns_at_last_access"):
        made.columns[name][:] = getattr(drawn, name)
    return made


def _named(*values: npt.NDArray[Any]) -> dict[str, npt.NDArray[Any]]:
    return dict(zip(("degree", "accesses", "age_days", "waited_days", "text_bytes"), values, strict=True))


def _quantiles(values: npt.NDArray[Any]) -> list[float]:
    return [float(f"{value:.5g}") for value in np.quantile(values, GRID, method="inverted_cdf")]


def _drawn(random: np.random.Generator, quantiles: list[float], count: int) -> npt.NDArray[np.float64]:
    return np.interp(random.random(count), GRID, quantiles)


def _whole(values: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    return np.rint(values).astype(np.int64)


if __name__ == "__main__":
    Path(sys.argv[2]).write_text(json.dumps(fit(Path(sys.argv[1])), indent=1) + "\n", encoding="utf-8")
