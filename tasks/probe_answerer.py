"""What the extractive answerer makes of the evidence, beside the sentence of it that is nearest to the question.

Both read exactly the evidence turns, as the condition `oracle` shows them, so that no retrieval is at fault. The
baseline gives the whole sentence that shares most words with the question.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from memory.conversation import Conversations
from memory.systems.turns import RULE, stored
from results.paper_tables import TYPE_ORDER, PaperTable
from results.rendering import interval, number, signed
from results.statistics import PairedDifference, paired_differences
from results.token_metrics import published
from tasks.answer import shown_date
from tasks.load import conversations_of
from tasks.models.offline.answerer import answer
from tasks.models.offline.passages import read
from tasks.models.offline.tokens import content
from tasks.study import Condition

PROFILES = ("published", "improved")


@dataclass(frozen=True, slots=True)
class Answered:
    """F1 of the answerer and of the baseline on one question."""

    type: str
    history: str
    answerer: float
    baseline: float


def best_overlap(question: str, context: str) -> str:
    """The sentence of a context that shares most distinct words with the question; the first of several."""
    asked = set(content(question))
    texts = [passage.text for passage in read(context)]
    return max(texts, key=lambda text: len(asked.intersection(content(text))), default="")


def contexts(conversations: Conversations, profile: str) -> Iterator[tuple[int, str]]:
    """Of each answerable question with evidence: its place among the questions, and its evidence turns as shown."""
    settings = Condition(system="oracle", profile=profile).resolved(conversations.benchmark, "")
    turns = {
        held.turn.id: held
        for history in conversations.histories.values()
        for session in history.sessions
        for held in stored(session)
    }
    for place, question in enumerate(conversations.questions):
        if question.evidence and not question.abstention:
            shown = [
                turns[name].shown(settings["text"], date=settings["show_dates"]) for name in question.evidence
            ]
            yield place, RULE.join(shown)


def answered(conversations: Conversations, profile: str) -> list[Answered]:
    """F1, as the paper counts it, of both on every answerable question that has evidence."""
    improved = profile == "improved"
    found = []
    for place, context in contexts(conversations, profile):
        question = conversations.questions[place]
        date = shown_date(question.date) if improved else None
        ours = answer(question.text, context, abstains=improved, question_date=date)
        scores = [
            published(said, question.reference).f1 for said in (ours, best_overlap(question.text, context))
        ]
        found.append(Answered(question.type, question.history, *scores))
    return found


def probe(benchmark: str, data: Path | None) -> list[PaperTable]:
    """F1 of the answerer and of the baseline on a benchmark's evidence, by type and profile, paired.

    Raises:
        BadInput: If the benchmark's file is not there, or not strictly right.
    """
    conversations = conversations_of(benchmark, data, None, None, 0)
    lines = []
    for profile in PROFILES:
        found = answered(conversations, profile)
        for kind in _types(found):
            lines.append((kind, profile, _difference([each for each in found if each.type == kind])))
        lines.append(("all", profile, _difference(found)))
    return [_table(lines)]


def _types(found: Sequence[Answered]) -> list[str]:
    there = {each.type for each in found}
    return [kind for kind in TYPE_ORDER if kind in there] + sorted(there.difference(TYPE_ORDER))


def _difference(found: Sequence[Answered]) -> PairedDifference:
    """Answerer minus baseline; questions of one conversation are resampled together."""
    ours, baseline = ([each.answerer for each in found], [each.baseline for each in found])
    clusters = [each.history for each in found]
    return paired_differences({"f1": ours}, {"f1": baseline}, clusters)["f1"]


def _table(lines: Sequence[tuple[str, str, PairedDifference]]) -> PaperTable:
    columns = ("n", "a", "b", "difference", "low", "high", "p")
    return PaperTable(
        name="probe_answerer",
        caption="Mean F1 of the extractive answerer (a) and of the sentence with most of the question's words (b), "
        "both on the evidence turns; a minus b with 95 % paired bootstrap intervals. Only the profile improved sees "
        "dates.",
        data=pd.DataFrame(
            {"type": kind, "profile": profile} | {name: asdict(found)[name] for name in columns}
            for kind, profile, found in lines
        ),
        header=("type", "profile", "n", "answerer", "best sentence", "difference", ""),
        rows=tuple(
            (
                kind,
                profile,
                f"{found.n:,}",
                number(found.a),
                number(found.b),
                signed(found.difference),
                interval(found.low, found.high, sign=True),
            )
            for kind, profile, found in lines
        ),
    )
