"""What a picture of a memory graph shows: the nodes and edges of one history, or of one question's recall."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from memory.errors import BadInput
from results.graph_view.stored import GraphRows, graph_rows
from results.report.sources import RunFolder

MOST_NODES = 5_000
"""Beyond, the most important ones are shown: no screen has room for more."""
LONGEST_TEXT = 1_500
"""Characters that are kept of a content or a turn."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and what its condition did with it.

    Attributes:
        evidence: The turns that hold the answer.
    """

    question: str
    text: str
    reference: str
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Picture:
    """A graph as it is drawn.

    Attributes:
        run: The run's name.
        graph: Which of the run's graphs it is.
        size: What the nodes' sizes mean: `importance` (the score of the forgetting pass) or `degree`.
        turns: The history's turns in the order in which they were remembered: `id`, `session`, `date`, `speaker`,
            `text`, and whether each is `evidence`.
        nodes: `label`, `title`, `content`, `size`, `forgotten`, `turns` (numbers of its source turns, the first one
            brought it), `elsewhere` (how many more it has in other histories), `created`, `accessed`, `accesses`.
        edges: `source` and `target` (numbers of nodes), `relation`, `turn` (number of the one that brought it).
        left_out: Nodes beyond `MOST_NODES`.
        asked: The question whose recall is shown; none if it is the whole memory.
    """

    run: str
    history: str
    graph: str
    size: str
    turns: Sequence[Mapping[str, Any]]
    nodes: Sequence[Mapping[str, Any]]
    edges: Sequence[Mapping[str, Any]]
    left_out: int
    asked: Asked | None


def picture_of(run: RunFolder, history: str, graph: str, recall: tuple[str, str] | None = None) -> Picture:
    """The picture of a history's memory in one of the run's graphs (see `stored.graphs`).

    Args:
        run: The run.
        history: Its id.
        graph: The graph's name; of one that all histories share, the part that stands on this history's turns.
        recall: Question and condition, to show only what was recalled: the nodes that stand on a recalled turn and
            have a line in the context.

    Raises:
        BadInput: If the run has no such history or question, or nothing of it is in the graph.
        TornTable: If a table is not whole.
    """
    rows = graph_rows(run, graph, history)
    asked, nodes = None, rows.nodes
    if recall is not None:
        asked, nodes = _recalled(run, history, *recall, nodes)
    if not nodes:
        raise BadInput(f"{run.folder}: nothing of history {history!r} is in the graph {graph!r}")
    scored = all(row["score"] is not None and isfinite(row["score"]) for row in nodes)
    size = "score" if scored else "degree"
    shown = sorted(nodes, key=lambda row: -row[size])[:MOST_NODES]
    places = {turn["turn"]: place for place, turn in enumerate(rows.turns)}
    evidence = set(asked.evidence) if asked else set()
    return Picture(
        run=run.name,
        history=history,
        graph=graph,
        size="importance" if scored else "degree",
        turns=[_turn(row, evidence) for row in rows.turns],
        nodes=[_node(row, float(row[size]), places) for row in shown],
        edges=list(_edges(rows, shown, places)),
        left_out=len(nodes) - len(shown),
        asked=asked,
    )


def _recalled(
    run: RunFolder, history: str, question: str, condition: str, nodes: Sequence[Mapping[str, Any]]
) -> tuple[Asked, list[Mapping[str, Any]]]:
    columns = ("question", "history", "text", "reference", "evidence")
    found = run.table("questions", columns, where=[("question", "==", question)])
    if found is None or found.num_rows == 0:
        raise BadInput(f"{run.folder}: the run has asked no question {question!r}")
    row = found.to_pylist()[0]
    if row["history"] != history:
        raise BadInput(f"question {question!r} is on history {row['history']!r}, not on {history!r}")
    where = [("question", "==", question), ("condition", "==", condition)]
    recalls = run.table("recalls", ("context", "turns"), where=where)
    if recalls is None or recalls.num_rows == 0:
        raise BadInput(
            f"{run.folder}: condition {condition!r} has recalled nothing for question {question!r}"
        )
    recall = recalls.to_pylist()[0]
    turns, lines = set(recall["turns"] or ()), (recall["context"] or "").splitlines()
    asked = Asked(question, row["text"] or "", row["reference"] or "", tuple(row["evidence"] or ()))
    return asked, [node for node in nodes if turns & set(node["sources"]) and _has_line(node, lines)]


def _has_line(node: Mapping[str, Any], lines: Iterable[str]) -> bool:
    """Whether the context has a line that begins as this node's does, as `memory.serialise` and GAAMA write it."""
    head = f"[{' '.join(node['label'].split())}] {' '.join(node['title'].split())}"
    content = " ".join((node["content"] or "").split())
    whole = f"{head} ({content})" if content else head
    return any(line.startswith(whole) or line == f"- {content}" for line in lines)


def _turn(row: Mapping[str, Any], evidence: set[str]) -> dict[str, Any]:
    return {
        "id": row["turn"],
        "session": row["session"],
        "date": _moment(row["date"]),
        "speaker": row["speaker"] or row["role"] or "",
        "text": _cut(row["text"]),
        "evidence": row["turn"] in evidence,
    }


def _node(row: Mapping[str, Any], size: float, places: Mapping[str, int]) -> dict[str, Any]:
    here = sorted(places[turn] for turn in row["sources"] if turn in places)
    return {
        "label": row["label"],
        "title": row["title"],
        "content": _cut(row["content"]),
        "size": size,
        "forgotten": row["forgotten"],
        "turns": here,
        "elsewhere": len(row["sources"]) - len(here),
        "created": _moment(row["created_at"]),
        "accessed": _moment(row["last_accessed_at"]),
        "accesses": row["access_count"] or 0,
    }


def _edges(
    rows: GraphRows, shown: Sequence[Mapping[str, Any]], places: Mapping[str, int]
) -> Iterable[dict[str, Any]]:
    numbers = {row["id"]: number for number, row in enumerate(shown)}
    for row in rows.edges:
        here = [places[turn] for turn in row["sources"] if turn in places]
        if here and row["source"] in numbers and row["target"] in numbers:
            yield {
                "source": numbers[row["source"]],
                "target": numbers[row["target"]],
                "relation": row["relationship"],
                "turn": min(here),
            }


def _cut(text: str | None) -> str:
    text = text or ""
    return text if len(text) <= LONGEST_TEXT else f"{text[:LONGEST_TEXT]} [cut]"


def _moment(time: Any) -> str:
    return "" if time is None else f"{time:%Y-%m-%d %H:%M}"
