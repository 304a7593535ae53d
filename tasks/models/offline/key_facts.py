"""Which share of a reference an answer has, by words: the offline judge of key facts."""

from __future__ import annotations

from collections.abc import Mapping

from tasks.models.offline.tokens import content, stems
from tasks.prompts.key_facts import RewardReply


def reward(inputs: Mapping[str, str]) -> str:
    """The share of the reference's words of content that the answer has, as `RewardReply`.

    A reference of function words alone is compared by all its words.
    """
    wanted = set(content(inputs["reference"])) or set(stems(inputs["reference"]))
    found = wanted & set(stems(inputs["answer"]))
    share = len(found) / len(wanted) if wanted else 0.0
    return RewardReply(reward=share, why=f"{len(found)} of {len(wanted)} words").model_dump_json()
