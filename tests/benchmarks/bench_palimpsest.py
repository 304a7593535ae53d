"""The hybrid memory as a store grows to LongMemEval-S's 246,189 turns: recall, adding a turn, bytes, and its walk.

Turns are drawn as for the index of words, with names and noun phrases among their words; vectors are random, of 256
numbers, and cost next to nothing, so that what is timed is the memory alone. The bounded walk is compared with that
over the whole graph. Times are of the processor, over all its threads.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Iterator, Sequence
from copy import copy
from datetime import UTC, datetime, timedelta
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from memory.conversation import Query, Session, Turn, turn_id
from memory.hybrid.settings import PalimpsestSettings
from memory.models import Embedded
from memory.protocol import Models, Nobody
from memory.ranking import best_first
from memory.systems.palimpsest import Palimpsest
from results.exponents import LEAST_SIZES, fit_exponent
from tests.benchmarks.bench_lexical import A_QUESTION, A_SESSION, QUESTIONS, SIZES, drawn, median_and_tail

NUMBERS, WALKS = 256, 10
DAY = datetime(2023, 1, 1, tzinfo=UTC)


class Drawn:
    """Random unit vectors, all drawn from one generator."""

    name = "fake:drawn"
    dimensions = NUMBERS

    def __init__(self) -> None:
        self._random = np.random.default_rng(0)

    def embed(self, texts: Sequence[str]) -> Embedded:
        vectors = self._random.standard_normal((len(texts), NUMBERS)).astype(np.float32)
        return Embedded(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def main() -> None:
    sizes = [int(given) for given in sys.argv[1:]] or list(SIZES)
    turns = [with_entities(text) for text in drawn(max(sizes))]
    memory = Palimpsest(PalimpsestSettings(), Models(Nobody(), Drawn()))
    medians: dict[str, list[float]] = {}
    told = 0
    for size in sizes:
        begun = time.process_time()
        tell(memory, turns[told:size], first=told)
        took, told = time.process_time() - begun, size
        print(f"\n{size:,} turns, the last heard in {took:,.0f} s", flush=True)
        walking = copy(memory)  # the same turns under other settings
        walking.settings = memory.settings.model_copy(update={"graph": 0.25})
        for what, times in measured(memory, walking, size).items():
            print(f"{what}: median {times[0] * 1e3:.3f} ms, p95 {times[1] * 1e3:.3f} ms", flush=True)
            medians.setdefault(what, []).append(times[0])
        print_error(walking)
        print_bytes(walking)
    for what, of_sizes in medians.items():
        if len(of_sizes) >= LEAST_SIZES:
            found = fit_exponent(sizes, of_sizes)
            print(f"{what}: turns ^ {found.value:.2f} [{found.low:.2f}, {found.high:.2f}]")


def with_entities(text: str) -> str:
    """A text in which every ninth word is a noun after an article, and every twentieth is a name."""
    words = text.split()
    for place in range(4, len(words), 9):
        words[place] = f"the {words[place]}"
    for place in range(7, len(words), 20):
        words[place] = words[place].capitalize()
    return " ".join(words)


def tell(memory: Palimpsest, texts: Sequence[str], first: int) -> None:
    """Remember turns, ten to a session and a session a day."""
    for start in range(0, len(texts), A_SESSION):
        memory.remember(a_session(texts[start : start + A_SESSION], first + start), {})


def a_session(texts: Sequence[str], position: int) -> Session:
    """Turns of a user and an assistant by turns."""
    roles = ("user", "assistant")
    turns = tuple(
        Turn(turn_id("h", position, place), roles[place % 2], roles[place % 2], text)
        for place, text in enumerate(texts)
    )
    return Session(str(position), "h", position, DAY + timedelta(days=position % 365), turns)


def questions(seed: int) -> Iterator[Query]:
    """Questions without end, no two with one id; every other names a time."""
    texts = cycle(with_entities(text) for text in drawn(QUESTIONS, A_QUESTION, seed=seed))
    for number, text in enumerate(texts):
        yield Query(str(number), "h", text + " two weeks ago" * (number % 2), DAY + timedelta(days=365))


def measured(memory: Palimpsest, walking: Palimpsest, size: int) -> dict[str, tuple[float, float]]:
    """Median and tail of recalls, and of adding a turn, whose vector here costs next to nothing."""
    asked, again = questions(1), questions(1)
    # Numbers that no session had: those told are numbered by their first turns.
    texts = enumerate(drawn(QUESTIONS, seed=2))
    new = (a_session([with_entities(text)], size + A_SESSION * place + 1) for place, text in texts)
    return {
        "recall": median_and_tail(lambda: memory.recall(next(asked))),
        "recall with the walk": median_and_tail(lambda: walking.recall(next(again))),
        "a turn added": median_and_tail(lambda: memory.remember(next(new), {})),
    }


def print_bytes(memory: Palimpsest) -> None:
    """What the memory says that it holds, and what the process does, with all texts that are still to come."""
    held = memory.size().bytes
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    process = pages * resource.getpagesize() / 2**30
    print(
        f"{held / 2**20:,.0f} MiB held, {held / len(memory.turns):,.0f} bytes a turn; process {process:.2f} GiB"
    )


def print_error(walking: Palimpsest) -> None:
    """How far the walk on the bounded subgraph is from that over the whole graph."""
    summed, largest, shared = [], [], []
    for query in islice(questions(3), WALKS):
        asked = walking.read(query)
        scores, _ = walking.scored(asked)
        bounded = walking.walked(asked, scores, walking.settings.graph_turns)
        whole = walking.walked(asked, scores, None)
        summed.append(float(np.abs(bounded - whole).sum()))
        largest.append(float(np.abs(bounded - whole).max()))
        shared.append(len({*best_first(bounded, 10).tolist()} & {*best_first(whole, 10).tolist()}))
    print(
        f"the walk on {walking.settings.graph_turns:,} turns beside the whole graph, mean of {WALKS} questions: summed "
        f"error {np.mean(summed):.1e}, largest of a turn {np.mean(largest):.1e}, {np.mean(shared):.1f} of the best ten",
        flush=True,
    )


if __name__ == "__main__":
    main()
