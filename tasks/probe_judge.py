"""How far the lexical judge agrees with the verdicts that were published with the paper's Experiment 1.

Both arms of the experiment were judged on 500 questions. One half of the questions chooses the judge's one
setting, and the threshold of the plain rule "F1 >= t"; only the other half is reported. The judge is shown the
question, the reference and the answer, never which arm gave it.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from pydantic import BaseModel, ValidationError

from memory.errors import BadInput
from results.agreement import Agreement, agreement
from results.paper_tables import TYPE_ORDER, PaperTable
from results.rendering import interval, number
from results.token_metrics import published as token_scores
from tasks.load import conversations_of
from tasks.models.offline.judge import judge

ARMS = ("graph", "baseline")
THRESHOLDS = tuple(step / 20 for step in range(1, 21))
SEED = 0


class _Row(BaseModel):
    """A row of the published files; `predicted` is null where the experiment's call failed."""

    question_id: str
    question_type: str
    ground_truth: str | int | float
    predicted: str | None
    judge_correct: int


@dataclass(frozen=True, slots=True)
class Case:
    """An answer that was published with a verdict; `right` is that verdict."""

    question: str
    type: str
    text: str
    reference: str
    answer: str
    right: bool


Rater = Callable[[Case, float], bool | None]
"""Says of a case, with a threshold, whether its answer is right; none where it cannot tell."""


def by_words(case: Case, threshold: float) -> bool | None:
    """The lexical judge; `threshold` is the share of the reference that an answer must say."""
    verdict: bool | None = json.loads(judge(case.text, case.reference, case.answer, right=threshold))[
        "correct"
    ]
    return verdict


def by_f1(case: Case, threshold: float) -> bool | None:
    """The plain rule that an answer is right from an F1 on; it leaves the same cases aside as the judge."""
    if by_words(case, 1.0) is None:
        return None
    return token_scores(case.answer, case.reference).f1 >= threshold


RATERS: Mapping[str, Rater] = {"lexical judge": by_words, "F1 rule": by_f1}


def cases(data: Path) -> list[Case]:
    """The published answers of both arms, without the row that holds an error in place of an answer.

    Raises:
        BadInput: If the published files or LongMemEval oracle are not in the folder, or not in their format.
    """
    questions = conversations_of("longmemeval-oracle", data, None, None, SEED).questions
    texts = {question.id: question.text for question in questions}
    found = []
    for arm in ARMS:
        for row in _rows(data / "published_results" / f"exp1_{arm}.jsonl"):
            if row.question_id not in texts:
                raise BadInput(f"{data}: question {row.question_id!r} is not in LongMemEval oracle")
            if row.predicted is not None:
                case = (texts[row.question_id], str(row.ground_truth), row.predicted, bool(row.judge_correct))
                found.append(Case(row.question_id, row.question_type, *case))
    return found


def _rows(path: Path) -> list[_Row]:
    try:
        return [_Row.model_validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except FileNotFoundError:
        raise BadInput(f"{path} is not there: put the paper's published results into the folder") from None
    except ValidationError as error:
        raise BadInput(f"{path}: a row is not as published: {error.errors()[0]['msg']}") from None


def halves(found: Sequence[Case], seed: int = SEED) -> tuple[list[Case], list[Case]]:
    """The cases in two halves: all cases of a question in the same one, each type's questions half and half."""
    types = {case.question: case.type for case in found}
    first: set[str] = set()
    draw = random.Random(seed)  # noqa: S311
    for kind in sorted(set(types.values())):
        questions = sorted(question for question, its in types.items() if its == kind)
        draw.shuffle(questions)
        first.update(questions[: len(questions) // 2])
    return [c for c in found if c.question in first], [c for c in found if c.question not in first]


def chosen(rater: Rater, found: Sequence[Case]) -> float:
    """The threshold with which most verdicts agree; of several that are equally good, the middle one."""
    agreed = {
        threshold: sum(rater(case, threshold) == case.right for case in found) for threshold in THRESHOLDS
    }
    equal = [threshold for threshold, count in agreed.items() if count == max(agreed.values())]
    return equal[len(equal) // 2]


def probe(data: Path, seed: int = SEED) -> list[PaperTable]:
    """The agreement of the judge and of the F1 rule with the published verdicts, by type, on the held-out half.

    Raises:
        BadInput: See `cases`.
    """
    choosing, held_out = halves(cases(data), seed)
    thresholds = {name: chosen(rater, choosing) for name, rater in RATERS.items()}
    present = {case.type for case in held_out}
    groups = [(kind, [c for c in held_out if c.type == kind]) for kind in TYPE_ORDER if kind in present]
    lines = [
        (group, name, threshold, _agreement(RATERS[name], threshold, of))
        for group, of in [*groups, ("all", held_out)]
        for name, threshold in thresholds.items()
    ]
    return [_table(lines)]


def _agreement(rater: Rater, threshold: float, found: Sequence[Case]) -> Agreement:
    said = [rater(case, threshold) for case in found]
    return agreement(
        [math.nan if verdict is None else verdict for verdict in said],
        [case.right for case in found],
        [case.question for case in found],
    )


def _table(lines: Sequence[tuple[str, str, float, Agreement]]) -> PaperTable:
    columns = [
        {
            "type": group,
            "rater": rater,
            "threshold": threshold,
            "n": found.n,
            "not_judged": found.missing,
            "agreement": found.agreement.value,
            "agreement_low": found.agreement.low,
            "agreement_high": found.agreement.high,
            "kappa": found.kappa.value,
            "kappa_low": found.kappa.low,
            "kappa_high": found.kappa.high,
        }
        for group, rater, threshold, found in lines
    ]
    return PaperTable(
        name="probe_judge",
        caption="Agreement with the published verdicts of Experiment 1 (both arms) on the half of the questions that "
        "chose no threshold; 95 % intervals by question. Rubrics are not judged.",
        data=pd.DataFrame(columns),
        header=("type", "rater", "threshold", "n", "not judged", "agreement", "", "kappa", ""),
        rows=tuple(
            (
                group,
                rater,
                number(threshold, 2),
                str(found.n),
                str(found.missing),
                number(found.agreement.value),
                interval(found.agreement.low, found.agreement.high),
                number(found.kappa.value),
                interval(found.kappa.low, found.kappa.high),
            )
            for group, rater, threshold, found in lines
        ),
    )
