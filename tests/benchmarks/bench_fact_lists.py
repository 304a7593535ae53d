"""How recall over a list of facts grows without a language model: RD-Forget with the offline curator and selector.

    python -m tests.benchmarks.bench_fact_lists [--data FILE]

Invented facts from 573 to 18,336, of which half replace others, in one chunk. A recall curates, selects and packs for a
question; the first of a history also cuts its lines into chunks and reads all facts, and is timed by itself. Prints the
exponents of the processor's seconds; with MemoryAgentBench's file, also the seconds over its own facts, with the
questions of one hop.
"""

from __future__ import annotations

import argparse
import random
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from memory.conversation import Query, Session, Turn, turn_id
from memory.models import ChatRequest, Reply
from memory.protocol import Models, Nobody
from memory.rdforget.settings import RD_FORGET_PROFILES, RDForgetSettings
from memory.systems.rd_forget import RDForget
from results.exponents import fit_exponent
from tasks.benchmarks.factconsolidation import SOURCES, load
from tasks.models.offline.chat import OfflineChat

SIZES = tuple(573 * 2**power for power in range(6))
QUESTIONS = 12
WHOLE = 1_000_000
"""Tokens of a chunk, so that every history is one: a curator that is a procedure has no window."""


class Curator:
    """The offline model without a store between, which would keep its replies."""

    name = "offline:frames"

    def __init__(self) -> None:
        self._model = OfflineChat("frames")

    def ask(self, request: ChatRequest, read: Callable[[str], Any]) -> Reply[Any]:
        text = self._model.complete(request.task, request.inputs)
        return Reply(read(text), text, "", 0, False, self.name)

    def ask_many(self, requests: Sequence[ChatRequest], read: Callable[[str], Any]) -> list[Any]:
        return [self.ask(request, read) for request in requests]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    data = parser.parse_args().data
    seconds(memory_of(facts(64)), questions(64))  # so that no size pays for what is loaded once
    took = []
    for size in SIZES:
        took.append(seconds(memory_of(facts(size)), questions(size)))
        print(line(f"{size:,} invented facts", *took[-1]), flush=True)
    for what, costs in zip(("first recall", "further recall"), zip(*took, strict=True), strict=True):
        found = fit_exponent(SIZES, costs)
        print(
            f"{what}: grows with the facts to the power {found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"
        )
    for source in (name for name in SOURCES if data and name.startswith("sh")):
        loaded = load(data, f"mab-fc-{source}")
        memory = memory_of([turn.text for turn in loaded.histories[source].turns])
        print(
            line(source, *seconds(memory, [each.text for each in loaded.questions[:QUESTIONS]])), flush=True
        )


def line(what: str, first: float, further: float) -> str:
    return f"{what}: first recall {first * 1e3:,.0f} ms, further {further * 1e3:,.1f} ms"


def facts(count: int) -> list[str]:
    """Numbered facts: whom people work for and where firms stand, each slot with about two values."""
    drawn = random.Random(count)
    slots = count // 4
    made = []
    for number in range(count):
        which = drawn.randrange(slots)
        made.append(
            f"{number}. Person {which} is employed by Firm {drawn.randrange(slots)}."
            if drawn.random() < 0.5
            else f"{number}. Firm {which} is located in the city of Town {drawn.randrange(slots)}."
        )
    return made


def questions(count: int) -> list[str]:
    drawn = random.Random(-count)
    return [
        f"In which city is the employer of Person {drawn.randrange(count // 4)} located?"
        for _ in range(QUESTIONS)
    ]


def memory_of(lines: Sequence[str]) -> RDForget:
    """A memory that has heard the facts as one session."""
    settings = RDForgetSettings(**{**RD_FORGET_PROFILES["published"], "chunk_tokens": WHOLE})
    memory = RDForget(settings, Models(Curator(), Nobody()))
    turns = tuple(Turn(turn_id("h", 0, index), "user", "user", text) for index, text in enumerate(lines))
    memory.remember(Session("s", "h", 0, None, turns), {})
    return memory


def seconds(memory: RDForget, asked: Sequence[str]) -> tuple[float, float]:
    """Processor seconds of the first recall, and the median of the others."""
    first, *others = _timed(memory, asked)
    return first, statistics.median(others)


def _timed(memory: RDForget, asked: Sequence[str]) -> Iterator[float]:
    for number, text in enumerate(asked):
        begun = time.process_time()
        memory.recall(Query(f"q{number}", "h", text, None))
        yield time.process_time() - begun


if __name__ == "__main__":
    main()
