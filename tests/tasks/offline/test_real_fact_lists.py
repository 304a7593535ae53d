"""The offline models over MemoryAgentBench's own facts: what is parsed, and what following them answers."""

from __future__ import annotations

from pathlib import Path

import pytest

from memory.conversation import Conversations
from results import rules
from tasks.benchmarks.factconsolidation import load
from tasks.models.offline.chain import FactList
from tasks.models.offline.fact_lines import read_line

FILE = Path(__file__).parents[3] / "../shared/data/memoryagentbench_conflict_resolution.json.gz"


def source(name: str) -> tuple[FactList, Conversations]:
    if not FILE.is_file():
        pytest.skip("MemoryAgentBench's file is not in ../shared/data")
    loaded = load(FILE, f"mab-fc-{name}")
    return FactList([read_line(turn.text).said for turn in loaded.histories[name].turns]), loaded


def right(facts: FactList, loaded: Conversations) -> int:
    """Questions that the newest fact of each hop answers, by the benchmark's rule."""
    ways = [(question, facts.best(question.text, lambda slot: slot[-1:])) for question in loaded.questions]
    return sum(
        bool(way.taken) and rules.substring(way.taken[-1].object, question.accepted) is not None
        for question, way in ways
    )


@pytest.mark.parametrize(
    ("name", "facts", "relations", "answered"),
    [("sh-6k", 455, 35, 100), ("mh-6k", 455, 35, 90), ("sh-262k", 18_332, 59, 97)],
)
def test_every_fact_has_parts_and_the_newest_of_each_hop_answer_so_many_of_a_hundred_questions(
    name: str, facts: int, relations: int, answered: int
) -> None:
    held, loaded = source(name)
    assert sum(bool(fact.subject) for fact in held.facts) == len(held.facts) == facts
    assert len({fact.relation for fact in held.facts}) == relations
    assert right(held, loaded) == answered
