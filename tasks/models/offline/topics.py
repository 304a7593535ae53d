"""GAM's three tasks by the words that turns share, without a language model."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from memory.prompts.gam_boundary import BoundaryReply
from memory.prompts.gam_links import LinkReply, LinksReply
from memory.prompts.gam_topic import SUMMARY_CHARACTERS, CauseReply, TopicReply
from tasks.models.offline.chunker import clauses
from tasks.models.offline.tokens import content

WINDOW = 6
"""Turns before and after a place that are compared."""
LEAST_TURNS = 3
"""Turns that a subject has at least."""
DROP = 0.1
"""Cosine of the words before and after a place below which the subject changes there."""
SENTENCES = 2
"""Sentences of a summary."""
LEAST_WORDS = 4
"""Words that carry meaning of a sentence that may stand in a summary."""
BECAUSE = frozenset({"because", "therefore", "reason", "hence", "thus"})
"""Words with which a turn says that the one before it is why."""

Turns = Sequence[Sequence[str]]
"""Id, date, speaker and text of each turn."""


def boundary(inputs: Mapping[str, str]) -> str:
    """Where the similarity of the words before and after drops, as `BoundaryReply`.

    Of places closer to each other than `LEAST_TURNS` the deepest is taken, of equal ones the first. The last turn has
    just come, so that it is looked at alone.
    """
    turns: Turns = json.loads(inputs["turns"])
    words = [Counter(content(text)) for _, _, _, text in turns]
    drops = {place: like for place in range(1, len(words)) if (like := _likeness(words, place)) < DROP}
    starts: list[int] = []
    for place in sorted(drops, key=lambda place: (drops[place], place)):
        if all(abs(place - other) >= LEAST_TURNS for other in (0, *starts)):
            starts.append(place)
    return BoundaryReply(starts=[turns[place][0] for place in sorted(starts)[:16]]).model_dump_json()


def summary(inputs: Mapping[str, str]) -> str:
    """The sentences that have most of the words said most often, with their speakers, in order, as `TopicReply`."""
    turns: Turns = json.loads(inputs["turns"])
    said = [(speaker, clause) for _, _, speaker, text in turns for clause in clauses(text)]
    worded = [(content(clause), speaker, clause) for speaker, clause in said]
    spread = Counter(stem for stems, _, _ in worded for stem in set(stems))
    scores = [
        sum(spread[stem] for stem in set(stems)) / math.sqrt(len(stems)) if len(stems) >= LEAST_WORDS else 0.0
        for stems, _, _ in worded
    ]
    best = sorted(range(len(worded)), key=lambda place: (-scores[place], place))[:SENTENCES]
    text = " ".join(f"{worded[place][1]}: {worded[place][2]}" for place in sorted(best))
    return TopicReply(summary=text[:SUMMARY_CHARACTERS], causes=_causes(turns)[:16]).model_dump_json()


def links(inputs: Mapping[str, str]) -> str:
    """As confidence, twice the share of the words of the shorter summary that the other has, as `LinksReply`.

    Two sentences of one matter hardly ever share more than half of their words: from there on it is 1.
    """
    own = set(content(inputs["summary"]))
    others = [set(content(other)) for other in json.loads(inputs["others"])]
    found = [
        LinkReply(topic=f"t{number}", confidence=min(1.0, 2 * len(own & other) / min(len(own), len(other))))
        for number, other in enumerate(others, 1)
        if own & other
    ]
    return LinksReply(links=found[:16]).model_dump_json()


def _likeness(words: Sequence[Counter[str]], place: int) -> float:
    """Cosine of the counts of words in the turns before a place and from it on."""
    before = _sum(words[max(0, place - WINDOW) : place])
    after = _sum(words[place : place + WINDOW])
    shared = sum(before[word] * after[word] for word in before.keys() & after.keys())
    lengths = math.sqrt(sum(n * n for n in before.values()) * sum(n * n for n in after.values()))
    return shared / lengths if lengths else 1.0


def _sum(counts: Iterable[Counter[str]]) -> Counter[str]:
    total: Counter[str] = Counter()
    for each in counts:
        total.update(each)
    return total


def _causes(turns: Turns) -> list[CauseReply]:
    """A turn that says why stands on the one before it."""
    return [
        CauseReply(cause=before[0], effect=after[0])
        for before, after in pairwise(turns)
        if BECAUSE & set(after[3].lower().split())
    ]
