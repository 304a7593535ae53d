"""Stage `waterfall`: for each question of a condition, at which step what answers it was lost.

The steps, and when one has what is tracked, are those of `results.waterfall`. No model is asked: all is read from the
tables of the stages before.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import compress
from typing import Any

from memory.conversation import Question, Turn
from memory.extraction import Extraction, is_speaker
from memory.prompts.extraction import spoken_text
from results import waterfall as rules
from results.schemas import HELD, METRICS, RECALLS, WATERFALL
from results.tables import from_rows
from tasks.extract import extracted
from tasks.load import loaded
from tasks.stage import Made, Stage, Work

NOTHING = Extraction()


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question with what each stage has made of its evidence.

    Attributes:
        turns: The evidence turns.
        extractions: Of each evidence turn; none if the system takes none.
        held: The texts that the memory holds of each evidence turn; none if the system does not say.
        recall: The row of `recalls`.
        metrics: The row of `metrics`.
    """

    question: Question
    turns: Sequence[Turn]
    extractions: Sequence[Extraction] | None
    held: Sequence[Sequence[str]] | None
    recall: Mapping[str, Any]
    metrics: Mapping[str, Any]


def make(work: Work) -> Made:
    """Trace the questions of a batch."""
    rows = [{**_about(asked), **_row(asked)} for asked in _read(work)]
    traced = sum(row["cause"] in rules.CAUSES for row in rows)
    return Made({"waterfall": from_rows(rows, WATERFALL)}, {"traced": traced, "outside": len(rows) - traced})


STAGE = Stage("waterfall", 1, make)


def _read(work: Work) -> list[_Asked]:
    histories, questions, _ = loaded(work)
    by_id = {question.id: question for question in questions}
    recalls = work.read("recall", "recalls", RECALLS).to_pylist()
    metrics = {row["question"]: row for row in work.read("score", "metrics", METRICS).to_pylist()}
    used = {by_id[recall["question"]].history for recall in recalls}
    turns = {turn.id: turn for name in used for turn in histories[name].turns}
    said = extracted(work) if any(name.startswith("extract-") for name in work.inputs) else None
    held: dict[str, list[str]] | None = None
    if "held" in work.inputs["recall"].files:
        held = {row["turn"]: row["texts"] for row in work.read("recall", "held", HELD).to_pylist()}
    found = []
    for recall in recalls:
        question = by_id[recall["question"]]
        found.append(
            _Asked(
                question,
                [turns[turn] for turn in question.evidence],
                None if said is None else [said.get(turn, NOTHING) for turn in question.evidence],
                # A memory that could not be built says nothing of any turn.
                None
                if held is None or not held.keys() >= set(question.evidence)
                else [held[turn] for turn in question.evidence],
                recall,
                metrics[question.id],
            )
        )
    return found


def _about(asked: _Asked) -> dict[str, Any]:
    question = asked.question
    return {"question": question.id, "type": question.type, "condition": asked.recall["condition"]}


def _row(asked: _Asked) -> dict[str, Any]:
    question = asked.question
    if question.abstention:
        return {"cause": rules.ABSTENTION}
    if question.unresolved_evidence:
        return {"cause": rules.UNRESOLVED}
    if not question.evidence:
        return {"cause": rules.NO_EVIDENCE}
    there = _turns_there(asked)
    texts = [spoken_text(turn) for turn in asked.turns]
    forms = rules.tracked_forms(question.reference, texts)
    if forms:
        steps = _answer_steps(asked, forms)
    else:
        steps = _evidence_steps(there, rules.wanted_turns(question.reference, texts))
    verdict = asked.metrics["judge"]
    steps |= {"in_turn": True, "in_answer": None if verdict is None else verdict == 1}
    return {
        "tracked": "answer" if forms else "evidence",
        **steps,
        "cause": _cause(asked, steps),
        "regained": rules.regained(steps),
        "evidence": len(asked.turns),
        **{f"evidence_{step}": None if known is None else sum(known) for step, known in there.items()},
        **_texts_there(asked),
    }


def _cause(asked: _Asked, steps: dict[str, bool | None]) -> str:
    if asked.metrics["status"] != "answered":
        return rules.FAILED
    return rules.UNJUDGED if steps["in_answer"] is None else rules.cause_of(steps)


def _turns_there(asked: _Asked) -> dict[str, list[bool] | None]:
    """For each evidence turn whether it was extracted, is held and is shown; none where that cannot be said."""
    extractions, held, recall = asked.extractions, asked.held, asked.recall
    there: dict[str, list[bool] | None] = {"extracted": None, "held": None, "shown": None}
    if extractions is not None:
        there["extracted"] = [_tells(e, turn) for e, turn in zip(extractions, asked.turns, strict=True)]
    if held is not None:
        there["held"] = [bool(texts) for texts in held]
    if recall["status"] == "ok" and held is not None:
        there["shown"] = [rules.shown(texts, recall["context"]) for texts in held]
    elif recall["status"] == "ok":
        named = set(recall["turns"][: recall["items"]])
        there["shown"] = [turn.id in named for turn in asked.turns]
    return there


def _texts_there(asked: _Asked) -> dict[str, int]:
    """How many texts the memory holds of the evidence turns, and how many of them the context shows."""
    if asked.held is None:
        return {}
    texts = {text for held in asked.held for text in held}
    context = asked.recall["context"]
    shown = {} if context is None else {"texts_shown": sum(rules.shown([text], context) for text in texts)}
    return {"texts_held": len(texts), **shown}


def _evidence_steps(there: Mapping[str, list[bool] | None], wanted: Sequence[bool]) -> dict[str, bool | None]:
    def has(known: list[bool] | None) -> bool | None:
        return None if known is None else all(compress(known, wanted))

    return {
        "in_extraction": has(there["extracted"]),
        "in_memory": has(there["held"]),
        "in_context": has(there["shown"]),
    }


def _answer_steps(asked: _Asked, forms: tuple[str, ...]) -> dict[str, bool | None]:
    extractions, held, recall = asked.extractions, asked.held, asked.recall
    return {
        "in_extraction": None
        if extractions is None
        else rules.said(forms, (text for extraction in extractions for text in _texts(extraction))),
        "in_memory": None if held is None else rules.said(forms, (text for texts in held for text in texts)),
        "in_context": rules.said(forms, [recall["context"]]) if recall["status"] == "ok" else None,
    }


def _tells(extraction: Extraction, turn: Turn) -> bool:
    return bool(extraction.edges) or any(
        node.attributes or not is_speaker(node.label, node.title, turn) for node in extraction.nodes
    )


def _texts(extraction: Extraction) -> list[str]:
    """All that an extraction says, a text for each node and edge."""
    nodes = [" ".join([node.title, node.content or "", *_said(node.attributes)]) for node in extraction.nodes]
    edges = [" ".join([edge.relationship, *_said(edge.attributes)]) for edge in extraction.edges]
    return nodes + edges


def _said(attributes: Mapping[str, Any]) -> list[str]:
    return [f"{name}: {value}" for name, value in attributes.items()]
