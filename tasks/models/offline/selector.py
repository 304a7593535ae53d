"""The selector of RD-Forget without a language model: the chain that leads to the answer, then what shares words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from tasks.models.offline.chain import Fact, FactList, Way
from tasks.models.offline.curation import fitting
from tasks.models.offline.tokens import content


def select(inputs: Mapping[str, str]) -> str:
    """The reply to a request of the task `rd_select`: ids, those of the chain's first hop first.

    Where active entries of a hop disagree, nothing says which holds, and all are kept. What such an entry replaced
    comes after the chain. Last come entries that share a word with the question, in the order in which they were given,
    which is that of their overlap.
    """
    candidates: list[dict[str, Any]] = json.loads(inputs["candidates"])
    question = inputs["question"]
    holding = [each["status"] == "active" for each in candidates]
    wanted = set(content(question))
    places = dict.fromkeys(
        [
            *_chain([str(each["statement"]) for each in candidates], holding, question),
            *(
                place
                for place, each in enumerate(candidates)
                if wanted.intersection(content(str(each["statement"])))
            ),
        ]
    )
    ids = [str(candidates[place]["id"]) for place in places]
    return json.dumps({"ids": ids[: fitting(ids, inputs)]})


def _chain(statements: Sequence[str], holding: Sequence[bool], question: str) -> list[int]:
    """The places of the entries on the best ways to an answer, hop by hop, and then of what they replaced."""

    def active(slot: Sequence[Fact]) -> Sequence[Fact]:
        return [fact for fact in slot if holding[fact.place]] or slot

    ways = list(FactList(statements).ways(question, active))
    score = max((way.score for way in ways), default=0.0)
    best: list[Way] = [way for way in ways if way.score == score]
    hops = max((len(way.taken) for way in best), default=0)
    taken = [way.taken[hop].place for hop in range(hops) for way in best if hop < len(way.taken)]
    replaced = [fact.place for way in best for slot in way.slots for fact in slot if not holding[fact.place]]
    return [*taken, *replaced]
