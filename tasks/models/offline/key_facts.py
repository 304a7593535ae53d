"""Which share of a reference an answer has, by words: the offline judge of key facts."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.models.offline.tokens import content, stems
from tasks.prompts.key_facts import RewardReply

ITEM = "- "
_BY_ITEM = ("memoryarena-travel", "memoryarena-shopping")


def reward(inputs: Mapping[str, str]) -> str:
    """The share of the reference's words of content that the answer has, as `RewardReply`.

    Of a plan or a product it is the share of the reference's items of which the answer has all words, on whatever day.
    A text of function words alone is compared by all its words.
    """
    said = set(stems(inputs["answer"]))
    lines = inputs["reference"].splitlines()
    items = [_wanted(line.removeprefix(ITEM).split(": ", 1)[-1]) for line in lines if line.startswith(ITEM)]
    if inputs.get("kind") in _BY_ITEM and any(items):
        worded = [item for item in items if item]
        return _share(sum(item <= said for item in worded), len(worded), "items")
    wanted = _wanted(inputs["reference"])
    return _share(len(wanted & said), len(wanted), "words")


def _wanted(text: str) -> set[str]:
    return set(content(text)) or set(stems(text))


def _share(found: int, of: int, what: str) -> str:
    share = found / of if of else 0.0
    return RewardReply(reward=share, why=f"{found} of {of} {what}").model_dump_json()
