"""Asking fewer questions: a seeded sample, stratified by question type.

The order in which questions are taken depends on the seed and on each question's id alone, so it does not
change when a file lacks a question, and a larger sample mostly contains a smaller one.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import replace

from memory.conversation import Conversations, Question
from memory.errors import BadInput


def limit(conversations: Conversations, n: int, seed: int) -> Conversations:
    """At most `n` questions, and only the histories that they draw on.

    Raises:
        BadInput: As `ask`.
    """
    asked = ask(conversations, n, seed)
    needed = {question.history for question in asked.questions}
    histories = {name: history for name, history in asked.histories.items() if name in needed}
    return replace(asked, histories=histories)


def ask(conversations: Conversations, n: int, seed: int) -> Conversations:
    """At most `n` questions of the whole store: every history is kept.

    Each type gets its share of `n`, rounded by largest remainder; the questions stay in file order.

    Raises:
        BadInput: If `n` is less than one, or there are no questions.
    """
    if not conversations.questions:
        raise BadInput(f"a sample of {n} questions: the conversations have none; leave the limit out")
    if n < 1:
        raise BadInput(f"{n} questions: must be at least 1; leave the limit out to ask all")
    if n >= len(conversations.questions):
        return conversations
    chosen = sample(conversations.questions, n, seed)
    questions = tuple(question for question in conversations.questions if question.id in chosen)
    note = f"questions sampled by type with seed {seed}: {n:,} of {len(conversations.questions):,}"
    return replace(conversations, questions=questions, notes=(*conversations.notes, note))


def sample(questions: Sequence[Question], n: int, seed: int) -> set[str]:
    """Ids of `n` of the questions, or of all if they are fewer, by lot and in their types' shares."""
    strata: defaultdict[str, list[Question]] = defaultdict(list)
    for question in questions:
        strata[question.type].append(question)
    chosen: set[str] = set()
    sizes = {kind: len(stratum) for kind, stratum in strata.items()}
    for kind, quota in shares(sizes, min(n, len(questions))).items():
        drawn = sorted(strata[kind], key=lambda question: _lot(question.id, seed))[:quota]
        chosen.update(question.id for question in drawn)
    return chosen


def shares(sizes: dict[str, int], n: int) -> dict[str, int]:
    """Split `n`, at most the sum of `sizes`, in proportion to `sizes` by the method of largest remainder.

    Whole numbers throughout, so no rounding; equal remainders go by name.
    """
    total = sum(sizes.values())
    quotas = Counter({name: n * size // total for name, size in sizes.items()})
    by_remainder = sorted(sizes, key=lambda name: (-(n * sizes[name] % total), name))
    quotas.update(by_remainder[: n - quotas.total()])
    return dict(quotas)


def _lot(question: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}:{question}".encode()).digest()
