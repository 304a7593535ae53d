"""The index of words as a store grows to LongMemEval-S's 246,189 turns: building, adding a turn, recall; beside bm25s.

Turns are drawn by Zipf's law, about as long as those of LongMemEval-S. Before anything is timed, both engines are
checked to score equally. bm25s cannot add: for a turn that is added it has to index all of them again. It is beside us
up to 40,000 turns; times are of the processor.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle

import bm25s
import numpy as np
import Stemmer

from memory.conversation import Query, Session, Turn, turn_id
from memory.protocol import Models, Nobody
from memory.systems.bm25 import BM25, BM25Settings
from memory.systems.searching import Unit
from results.exponents import LEAST_SIZES, fit_exponent
from tests.benchmarks.timing import show
from tests.memory.fake_models import FakeHashEmbedder

SIZES = (10_000, 20_000, 40_000, 80_000, 160_000, 246_189)
AS_BM25S = 40_000
WORDS, LENGTH, SPREAD, A_SESSION, QUESTIONS, A_QUESTION = 110_000, 40, 1.2, 10, 100, 7
STEMMER = Stemmer.Stemmer("english")
UNITS: tuple[Unit, ...] = ("turn", "session")


def main() -> None:
    sizes = [int(given) for given in sys.argv[1:]] or list(SIZES)
    turns, asked = drawn(max(sizes)), drawn(QUESTIONS, A_QUESTION, seed=1)
    memories = [BM25(BM25Settings(unit=unit), Models(Nobody(), FakeHashEmbedder())) for unit in UNITS]
    medians: dict[str, list[float]] = {}
    for size in sizes:
        print(f"\n{size:,} turns", flush=True)
        begun, known = time.process_time(), len(memories[0].turns)
        for memory in memories:
            tell(memory, turns[len(memory.turns) : size])
        built = (time.process_time() - begun) / len(memories) / (size - known)
        print(f"remembered: {built * 1e3:.3f} ms a turn")
        figures = timed(memories, asked)
        if size <= AS_BM25S:
            figures["turns scored by bm25s"] = against_bm25s(memories[0], asked, built * size)
        for what, times in figures.items():
            print(f"{what}: median {times[0] * 1e3:.3f} ms, p95 {times[1] * 1e3:.3f} ms", flush=True)
            medians.setdefault(what, []).append(times[0])
    for what, of_sizes in medians.items():
        if len(of_sizes) >= LEAST_SIZES:
            found = fit_exponent(sizes, of_sizes)
            print(f"{what}: turns ^ {found.value:.2f} [{found.low:.2f}, {found.high:.2f}]")


def timed(memories: Sequence[BM25], asked: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Median and 95th percentile of adding a turn, of scoring, and of a whole recall, by what was timed."""
    first = memories[0]
    questions, new = cycle(asked), cycle(drawn(QUESTIONS, seed=2))
    known = len(first.turns)
    figures = {
        "turns scored": median_and_tail(lambda: first.index.scores(next(questions))),
        "sessions scored": median_and_tail(
            lambda: first.index.scores(next(questions), first.sittings.of_turns)
        ),
    }
    for memory, unit in zip(memories, UNITS, strict=True):
        ask = partial(recall, memory, questions)
        figures[f"recall of system bm25, unit {unit}"] = median_and_tail(ask)
    figures["a turn added"] = median_and_tail(lambda: tell(first, [next(new)]))
    print(f"added for this: {len(first.turns) - known} turns")
    return figures


def against_bm25s(memory: BM25, asked: Sequence[str], built: float) -> tuple[float, float]:
    """What bm25s takes to score, printed beside ours what it takes to index.

    Raises:
        SystemExit: If it scores otherwise: there is nothing to compare.
    """
    texts = [held.turn.text for held in memory.turns]
    begun = time.process_time()
    reference = bm25s.BM25()
    reference.index(words(texts), show_progress=False)
    show(
        "all turns indexed", built, "bm25s, which does so for each that is added", time.process_time() - begun
    )
    questions = cycle(asked)
    if not all(np.array_equal(memory.index.scores(one), scored(reference, one)) for one in asked):
        raise SystemExit("the scores differ from those of bm25s: there is nothing to compare")
    return median_and_tail(lambda: scored(reference, next(questions)))


def recall(memory: BM25, questions: cycle[str]) -> None:
    memory.recall(Query("q", "h", next(questions)))


def tell(memory: BM25, texts: Sequence[str]) -> None:
    """Remember turns, ten to a session."""
    told = len(memory.turns)
    for start in range(0, len(texts), A_SESSION):
        position = told + start  # any number that was not there before
        turns = tuple(
            Turn(turn_id("h", position, place), "user", "user", text)
            for place, text in enumerate(texts[start : start + A_SESSION])
        )
        memory.remember(Session(str(position), "h", position, None, turns), {})


def drawn(turns: int, length: int = LENGTH, seed: int = 0) -> list[str]:
    """Texts of words by Zipf's law, their lengths log-normal about a median."""
    random = np.random.default_rng(seed)
    lengths = np.maximum(1, length * np.exp(SPREAD * random.standard_normal(turns))).astype(np.intp)
    chances = 1 / (np.arange(WORDS) + 10.0)
    words = random.choice(WORDS, size=int(lengths.sum()), p=chances / chances.sum())
    names = np.array([f"word{number}" for number in range(WORDS)], dtype=object)[words].tolist()
    ends = np.cumsum(lengths)
    return [" ".join(names[end - size : end]) for end, size in zip(ends, lengths, strict=True)]


def words(texts: Sequence[str]) -> list[list[str]]:
    found: list[list[str]] = bm25s.tokenize(
        list(texts), stopwords="en", stemmer=STEMMER, return_ids=False, show_progress=False
    )
    return found


def scored(reference: bm25s.BM25, question: str) -> np.ndarray:
    return np.asarray(reference.get_scores(words([question])[0]))


def median_and_tail(work: Callable[[], object]) -> tuple[float, float]:
    """Median and 95th percentile of the seconds of single calls."""
    times = []
    for _ in range(QUESTIONS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return float(np.median(times)), float(np.percentile(times, 95))


if __name__ == "__main__":
    main()
