"""The offline procedures behind a chat model's door: a task and its inputs in, a reply's text out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from importlib import import_module

from memory.errors import BadInput

Inputs = Mapping[str, str]

# Raised whenever a procedure would reply differently to the same inputs: it is part of the call's id.
VERSIONS = {
    "noun-phrases": "1",
    "every-noun-phrase": "1",
    "locomo-observations": "1",
    "frames": "1",
    "extractive": "2",
    "chain": "1",
    "lexical": "3",
}

_EXTRACTING = {
    "extract": "extractor:extract_turn",
    "query_entities": "extractor:entities_of",
    "reflections": "concept_facts:no_reflections",
    "gam_boundary": "topics:boundary",
    "gam_topic": "topics:summary",
    "gam_links": "topics:links",
    **dict.fromkeys(("five_ws", "five_ws_query"), "five_ws:tags_of"),
    "fact_filter": "fact_filter:kept",
    **{f"graft_{step}": f"grafter:{step}" for step in ("diagnose", "probe", "plan", "verify")},
}
_PROCEDURES: Mapping[str, Mapping[str, str]] = {
    "noun-phrases": {**_EXTRACTING, "concept_facts": "concept_facts:stated"},
    "every-noun-phrase": {
        **_EXTRACTING,
        "extract": "extractor:extract_all",
        "concept_facts": "concept_facts:stated",
    },
    "locomo-observations": {**_EXTRACTING, "concept_facts": "concept_facts:observed"},
    "frames": {
        **_EXTRACTING,
        "concept_facts": "concept_facts:stated",
        "rd_curate": "curator:curate",
        "rd_select": "selector:select",
    },
    "extractive": {"answer": "answerer:answer_request"},
    "chain": {"answer": "chain_answerer:answer_request"},
    "lexical": {"judge": "judge:judge_request", "key_facts": "key_facts:reward"},
}
"""By model and task, the module and function: imported when asked for, so that listing models loads no word lists."""


class OfflineChat:
    """One of the offline models.

    `noun-phrases` extracts, names query entities, filters facts and repairs, `extractive` answers, `lexical` judges;
    `every-noun-phrase` is `noun-phrases` with a node for all phrases of a turn, where that takes a few;
    `locomo-observations` is `noun-phrases` with the facts that LoCoMo's own file states; `frames` is `noun-phrases` and
    curates and selects for RD-Forget; `chain` is `extractive`, and follows lists of facts.

    Raises:
        BadInput: If there is no model of that name.
    """

    def __init__(self, name: str) -> None:
        if name not in VERSIONS:
            raise BadInput(f"no offline model {name}: choose one of {', '.join(VERSIONS)}")
        self.name = name
        self.version = VERSIONS[name]

    def complete(self, task: str, inputs: Inputs) -> str:
        """The reply to a request's task, from the fields that its prompt was rendered from.

        Raises:
            ValueError: If the model does not do this task.
            KeyError: If an input of the task is missing.
        """
        place = _PROCEDURES[self.name].get(task)
        if place is None:
            able = [f"offline:{name}" for name, procedures in _PROCEDURES.items() if task in procedures]
            choice = " or ".join([*able, "a language model"])
            raise ValueError(
                f"the offline model {self.name} does not do the task {task}; "
                f"choose {choice} for it, or leave out the system that asks"
            )
        module, _, function = place.partition(":")
        procedure: Callable[[Inputs], str] = getattr(
            import_module(f"tasks.models.offline.{module}"), function
        )
        return procedure(inputs)
