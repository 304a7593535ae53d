"""The offline procedures behind a chat model's door: a task and its inputs in, a reply's text out."""

from __future__ import annotations

from collections.abc import Mapping

from memory.errors import BadInput

# Raised whenever a procedure would reply differently to the same inputs: it is part of the call's id.
VERSIONS = {"noun-phrases": "1", "extractive": "2", "lexical": "3"}


class OfflineChat:
    """One of the offline models.

    `noun-phrases` extracts and names query entities, `extractive` answers, `lexical` judges.

    Raises:
        BadInput: If there is no model of that name.
    """

    def __init__(self, name: str) -> None:
        if name not in VERSIONS:
            raise BadInput(f"no offline model {name}: choose one of {', '.join(VERSIONS)}")
        self.name = name
        self.version = VERSIONS[name]

    def complete(self, task: str, inputs: Mapping[str, str]) -> str:
        """The reply to a request's task, from the fields that its prompt was rendered from.

        Raises:
            ValueError: If the model does not do this task.
            KeyError: If an input of the task is missing.
        """
        # Imported where they are used: listing the models should not load word lists.
        match self.name, task:
            case "noun-phrases", "extract":
                from tasks.models.offline.extractor import extract

                return extract(inputs["role"], inputs["text"])
            case "noun-phrases", "query_entities":
                from tasks.models.offline.extractor import query_entities

                return query_entities(inputs["question"])
            case "extractive", "answer":
                from tasks.models.offline.answerer import answer

                return answer(
                    inputs["question"],
                    inputs["context"],
                    abstains=inputs.get("profile") == "improved",
                    question_date=inputs.get("question_date"),
                )
            case "lexical", "judge":
                from tasks.models.offline.judge import judge

                return judge(
                    inputs["question"],
                    inputs["reference"],
                    inputs["answer"],
                    question_type=inputs.get("type", ""),
                    abstention=inputs.get("abstention") == "true",
                )
        raise ValueError(f"the offline model {self.name} does not do the task {task}")
